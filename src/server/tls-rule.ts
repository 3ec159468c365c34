import type { TlsOptions } from "node:tls";
import { type Member, object, type Rule } from "../protocol/check/rules.js";

// Node ignores an option of TLS that it does not know, and listens without a certificate.

const anything = { rule: (): readonly string[] => [] };

const members: Readonly<Record<keyof TlsOptions, Member>> = {
  ...{
    key: anything,
    cert: anything,
    pfx: anything,
    passphrase: anything,
    ca: anything,
    crl: anything,
    SNICallback: anything,
    secureContext: anything,
  },
  ...{ requestCert: anything, requestOCSP: anything, rejectUnauthorized: anything, allowPartialTrustChain: anything },
  ...{
    minVersion: anything,
    maxVersion: anything,
    secureProtocol: anything,
    secureOptions: anything,
    honorCipherOrder: anything,
  },
  ...{ ciphers: anything, sigalgs: anything, ecdhCurve: anything, dhparam: anything },
  ...{ clientCertEngine: anything, privateKeyEngine: anything, privateKeyIdentifier: anything },
  ...{ ALPNProtocols: anything, ALPNCallback: anything, pskCallback: anything, pskIdentityHint: anything },
  ...{
    sessionTimeout: anything,
    sessionIdContext: anything,
    ticketKeys: anything,
    handshakeTimeout: anything,
    enableTrace: anything,
  },
  ...{
    allowHalfOpen: anything,
    pauseOnConnect: anything,
    noDelay: anything,
    keepAlive: anything,
    keepAliveInitialDelay: anything,
  },
  ...{ highWaterMark: anything, blockList: anything, certificateCompression: anything },
};
const known = object(members);

/** What names the server to its callers. */
const identities = ["cert", "pfx", "SNICallback", "secureContext", "pskCallback"];
const keys = ["key", "privateKeyIdentifier"];

/** The options of TLS: those of Node, with a certificate that Node can read. */
export const tlsRule: Rule = (value, path) => {
  const problems = known(value, path);
  if (problems.length > 0) return problems;
  const options = value as TlsOptions;
  const has = (name: string): boolean => Reflect.get(options, name) !== undefined;
  if (!identities.some(has)) return [`${path}.cert is missing: give the certificate in PEM, and its key`];
  if (has("cert") && !keys.some(has)) return [`${path}.key is missing: give the private key of the certificate in PEM`];
  try {
    process.getBuiltinModule("node:tls").createSecureContext(options);
    return [];
  } catch (error) {
    return [`${path} cannot be used: ${error instanceof Error ? error.message : String(error)}`];
  }
};
