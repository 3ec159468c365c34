import type { TlsOptions } from "node:tls";
import { object, type Rule } from "../../protocol/check/rules.js";
import { readErrorMessage } from "../../protocol/errors.js";

// Node ignores an option of TLS that it does not know, and listens without a certificate.

const names: readonly (keyof TlsOptions)[] = [
  ...(["key", "cert", "pfx", "passphrase", "ca", "crl", "SNICallback", "secureContext"] as const),
  ...(["requestCert", "requestOCSP", "rejectUnauthorized", "allowPartialTrustChain"] as const),
  ...(["minVersion", "maxVersion", "secureProtocol", "secureOptions", "honorCipherOrder"] as const),
  ...(["ciphers", "sigalgs", "ecdhCurve", "dhparam"] as const),
  ...(["clientCertEngine", "privateKeyEngine", "privateKeyIdentifier"] as const),
  ...(["ALPNProtocols", "ALPNCallback", "pskCallback", "pskIdentityHint"] as const),
  ...(["sessionTimeout", "sessionIdContext", "ticketKeys", "handshakeTimeout", "enableTrace"] as const),
  ...(["allowHalfOpen", "pauseOnConnect", "noDelay", "keepAlive", "keepAliveInitialDelay"] as const),
  ...(["highWaterMark", "blockList", "certificateCompression"] as const),
];
const checkNames = object(Object.fromEntries(names.map((name) => [name, { rule: () => [] }])));

/** Options that identify the server to its callers. */
const identities = ["cert", "pfx", "SNICallback", "secureContext", "pskCallback"];
const keys = ["key", "privateKeyIdentifier"];

/** The options of TLS: those of Node, with a certificate that Node can read. */
export const tlsRule: Rule = (value, path) => {
  const problems = checkNames(value, path);
  if (problems.length > 0) return problems;
  const options = value as TlsOptions;
  const has = (name: string): boolean => Reflect.get(options, name) !== undefined;
  if (!identities.some(has)) return [`${path}.cert is missing: give the certificate in PEM, and its key`];
  if (has("cert") && !keys.some(has)) return [`${path}.key is missing: give the private key of the certificate in PEM`];
  try {
    process.getBuiltinModule("node:tls").createSecureContext(options);
    return [];
  } catch (error) {
    return [`${path} cannot be used: ${readErrorMessage(error)}`];
  }
};
