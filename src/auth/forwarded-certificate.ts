import type { PeerCertificate } from "../protocol/context.js";

/** The header in which Envoy, and meshes that are built on it, report the certificate of their caller. */
export const forwardedCertificateHeader = "x-forwarded-client-cert";

/** A longer header is not a certificate's and is ignored. */
const maxLength = 16_384;

// A value ends at a separator: a quote that one hop leaves open must not swallow the values that the next hop appends.
const member = /[ \t]*([A-Za-z]+)=(?:"((?:[^"\\]|\\.)*)"|([^;,"]*))([;,]|$)/y;

/**
 * Reads what a trusted proxy reports: one element for each hop, separated by commas, the nearest caller last. `undefined`
 * when it reports no name, and for a header that is not of this form.
 */
export function forwardedCertificate(header: string | undefined): PeerCertificate | undefined {
  if (header === undefined || header.length > maxLength) return undefined;
  const element = lastElement(header) ?? [];
  const [, subject = ""] = element.findLast(([kind]) => kind === "SUBJECT") ?? [];
  const names = element.flatMap(([kind, value]) =>
    (kind === "URI" || kind === "DNS") && value !== "" ? [`${kind}:${value}`] : [],
  );
  return subject === "" && names.length === 0 ? undefined : { subject, names, raw: undefined };
}

type Members = (readonly [kind: string, value: string])[];

function lastElement(header: string): Members | undefined {
  let element: Members = [];
  member.lastIndex = 0;
  while (member.lastIndex < header.length) {
    const [, name, quoted, plain = "", end] = member.exec(header) ?? [];
    if (name === undefined) return undefined;
    const kind = name.toUpperCase();
    // A subject keeps the escapes of its form (RFC 2253): without them, a comma in one name would begin another.
    element.push([kind, (kind === "SUBJECT" ? quoted : quoted?.replace(/\\(.)/g, "$1")) ?? plain]);
    if (end === ",") element = [];
  }
  return element;
}
