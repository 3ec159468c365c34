import { X509Certificate } from "node:crypto";
import { assertOptions, entries, func, type MembersOf, object, string } from "../../protocol/check/rules.js";
import type { PeerCertificate } from "../../protocol/context.js";
import { createIdentity, type VerifyResult } from "./api-key.js";
import { type AuthScheme, CredentialError } from "./scheme.js";

/** Which client certificates are accepted. */
export interface MutualTlsOptions {
  /**
   * Certificates, in PEM, of the authorities that issue client certificates, including intermediate ones. Default:
   * none, and only certificates that a proxy reports are accepted.
   */
  readonly ca?: string | readonly string[] | undefined;
  /** Returns the owner, or an identity; nothing for an unknown caller. Default: the first URI, else the subject. */
  readonly subject?: ((certificate: PeerCertificate) => VerifyResult) | undefined;
  /** For people, in the card. Default: none. */
  readonly description?: string | undefined;
}

const members: MembersOf<MutualTlsOptions> = {
  ca: { rule: (value, path) => (Array.isArray(value) ? entries(string) : string)(value, path) },
  subject: { rule: func },
  description: { rule: string },
};
const rule = object(members);

/**
 * Accepts client certificates (spec 4.5.6). `serve` requests one over TLS; a proxy in `trustProxy` reports it in the
 * header `x-forwarded-client-cert`. Throws a `TypeError` for wrong options.
 *
 * @example
 * ```ts
 * const certificate = mutualTls({ ca: readFileSync("clients-ca.pem", "utf8") });
 * const server = await serve({ card, agent, tls, auth: { schemes: { certificate } } });
 * ```
 */
export function mutualTls(options: MutualTlsOptions = {}): AuthScheme {
  assertOptions("mutualTls", options, rule);
  const { ca, subject = chooseName, description = "" } = options;
  const clientAuthorities = ca === undefined ? [] : [ca].flat();
  const authorities = clientAuthorities.map(readAuthority);
  return {
    declaration: { case: "mtlsSecurityScheme", value: { description } },
    challenge: "MutualTLS",
    needsCertificate: true,
    clientAuthorities,
    open: () => (call) => {
      const certificate = call.certificate();
      if (certificate === undefined) return undefined;
      if (certificate.raw !== undefined && !isIssued(certificate.raw, authorities)) return undefined;
      const refusal = "the client certificate is not that of a known caller";
      return { ...createIdentity(subject(certificate), { what: "mutualTls: subject", refusal }) };
    },
  };
}

function readAuthority(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new TypeError("mutualTls: ca must be certificates in PEM, each a text of its own", { cause });
  }
}

// TLS has verified the chain against the authorities of every scheme; this finds those of this one.
function isIssued(raw: Uint8Array, authorities: readonly X509Certificate[]): boolean {
  const certificate = new X509Certificate(raw);
  return authorities.some((authority) => certificate.checkIssued(authority) && certificate.verify(authority.publicKey));
}

function chooseName({ names, subject }: PeerCertificate): string {
  const uri = names.find((name) => name.startsWith("URI:"));
  const name = uri?.slice(4) ?? subject;
  if (name === "") throw new CredentialError("the client certificate has no name");
  return name;
}
