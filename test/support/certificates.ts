import "reflect-metadata";
import * as x509 from "@peculiar/x509";

/** A certificate authority that a test makes. */
export interface Authority {
  /** Its own certificate in PEM. */
  readonly ca: string;
  /** Issues a certificate with this common name and these alternative names. */
  issue(
    name: string,
    ...names: readonly x509.JsonGeneralName[]
  ): Promise<{ readonly cert: string; readonly key: string }>;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const day = 86_400_000;

/** `until`: when the certificates that it issues expire. Default: in a day, as its own does. */
export async function createAuthority(name: string, until?: Date): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const lifetime = { notBefore: new Date(Date.now() - day), notAfter: new Date(Date.now() + day) };
  const x509Certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...lifetime,
    name: `CN=${name}`,
    keys,
    signingAlgorithm: algorithm,
    extensions: [new x509.BasicConstraintsExtension(true, 1, true)],
  });
  return {
    ca: x509Certificate.toString("pem"),
    async issue(subject, ...names) {
      const pair = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
      const certificate = await x509.X509CertificateGenerator.create({
        ...lifetime,
        ...(until && { notAfter: until }),
        subject: `CN=${subject}`,
        issuer: x509Certificate.subject,
        publicKey: pair.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: algorithm,
        extensions: names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension([...names])],
      });
      const key = await crypto.subtle.exportKey("pkcs8", pair.privateKey);
      return { cert: certificate.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY") };
    },
  };
}
