import type { PeerCertificate } from "../protocol/context.js";

/** The header in which Envoy, and meshes that are built on it, report the certificate of their caller. */
export const forwardedCertificateHeader = "x-forwarded-client-cert";

/** A longer header is not a certificate's and is ignored. */
const maxLength = 16_384;

const pair = /([A-Za-z]+)=(?:"((?:[^"\\]|\\.)*)"|([^;,"]*))/g;

/**
 * Reads what a trusted proxy reports: one element for each hop, separated by commas, the nearest caller last. `undefined`
 * when it reports no name.
 */
export function forwardedCertificate(header: string | undefined): PeerCertificate | undefined {
  if (header === undefined || header === "" || header.length > maxLength) return undefined;
  const element = header.match(/(?:[^,"]|"(?:[^"\\]|\\.)*")+/g)?.at(-1) ?? "";
  let subject = "";
  const names: string[] = [];
  for (const [, name = "", quoted, plain = ""] of element.matchAll(pair)) {
    const value = quoted?.replace(/\\(.)/g, "$1") ?? plain;
    const kind = name.toLowerCase();
    if (kind === "subject") subject = value;
    if ((kind === "uri" || kind === "dns") && value !== "") names.push(`${kind.toUpperCase()}:${value}`);
  }
  return subject === "" && names.length === 0 ? undefined : { subject, names, raw: undefined };
}
