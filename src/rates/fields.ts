import type { LimitBalance } from "./counters.js";
import type { WindowLimit } from "./limits.js";

// RateLimit and RateLimit-Policy as in draft-ietf-httpapi-ratelimit-headers-11, lists of structured fields (RFC 9651).
// The registry has no unit for tokens; readers ignore a unit that they do not know.

const units: Readonly<Record<WindowLimit["resource"], string>> = {
  requests: "",
  // Requests that start tasks.
  tasks: "",
  bytes: ';qu="content-bytes"',
  tokens: ';qu="tokens"',
};

/** A limit as the fields name and describe it. */
interface LimitDescription {
  readonly name: string;
  readonly policy: string;
}

const descriptions = new WeakMap<WindowLimit, LimitDescription>();

function describe(limit: WindowLimit): LimitDescription {
  const existing = descriptions.get(limit);
  if (existing !== undefined) return existing;
  // A string of structured fields has printable ASCII only.
  const name = `"${limit.name.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/gu, encodeURIComponent)}"`;
  const seconds = Math.max(1, Math.round(limit.windowMs / 1000));
  const description = { name, policy: `${name};q=${limit.limit}${units[limit.resource]};w=${seconds}` };
  descriptions.set(limit, description);
  return description;
}

/** The fields about limits in windows; none without such limits. */
export function rateFields(balances: Iterable<LimitBalance>): Readonly<Record<string, string>> {
  let policies = "";
  let states = "";
  for (const { limit, left, endsInMs } of balances) {
    const { name, policy } = describe(limit);
    const comma = policies === "" ? "" : ", ";
    policies += comma + policy;
    states += `${comma}${name};r=${Math.floor(left)};t=${Math.ceil(endsInMs / 1000)}`;
  }
  return policies === "" ? {} : { "RateLimit-Policy": policies, RateLimit: states };
}

/** Fields of two sets of limits. */
export function joinFields(
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return Object.fromEntries(
    names.map((name) => [name, [one[name], other[name]].filter((list) => list !== undefined).join(", ")]),
  );
}
