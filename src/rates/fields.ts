import type { Standing } from "./counters.js";
import type { WindowLimit } from "./limits.js";

// RateLimit and RateLimit-Policy as in draft-ietf-httpapi-ratelimit-headers-11, lists of structured fields (RFC 9651).
// The registry has no unit for tokens; readers ignore a unit that they do not know.

const units: Readonly<Record<WindowLimit["what"], string>> = {
  requests: "",
  // Requests that start tasks.
  tasks: "",
  bytes: ';qu="content-bytes"',
  tokens: ';qu="tokens"',
};

/** The fields about limits in windows; none without such limits. */
export function rateFields(standings: readonly Standing[]): Readonly<Record<string, string>> {
  if (standings.length === 0) return {};
  const policies = standings.map(
    ({ limit }) =>
      `${nameOf(limit)};q=${limit.limit}${units[limit.what]};w=${Math.max(1, Math.round(limit.windowMs / 1000))}`,
  );
  const states = standings.map(
    ({ limit, left, endsInMs }) => `${nameOf(limit)};r=${Math.floor(left)};t=${Math.ceil(endsInMs / 1000)}`,
  );
  return { "RateLimit-Policy": policies.join(", "), RateLimit: states.join(", ") };
}

/** A string of structured fields, which has printable ASCII only. */
function nameOf({ name }: WindowLimit): string {
  return `"${name.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/gu, encodeURIComponent)}"`;
}
