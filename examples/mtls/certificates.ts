// Certificates for this example. In a mesh, SPIRE, Istio or cert-manager issue them.
import "reflect-metadata";
import * as x509 from "@peculiar/x509";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const lifetime = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };

/** A certificate authority: its certificate in PEM, and a function that issues others. */
export async function createAuthority(name: string) {
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const own = await x509.X509CertificateGenerator.createSelfSigned({
    ...lifetime,
    name: `CN=${name}`,
    keys,
    signingAlgorithm: algorithm,
    extensions: [new x509.BasicConstraintsExtension(true, 1, true)],
  });
  return {
    ca: own.toString("pem"),
    async issue(subject: string, ...names: readonly x509.JsonGeneralName[]) {
      const pair = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
      const certificate = await x509.X509CertificateGenerator.create({
        ...lifetime,
        subject: `CN=${subject}`,
        issuer: own.subject,
        publicKey: pair.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: algorithm,
        extensions: [new x509.SubjectAlternativeNameExtension([...names])],
      });
      const key = await crypto.subtle.exportKey("pkcs8", pair.privateKey);
      return { cert: certificate.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY") };
    },
  };
}
