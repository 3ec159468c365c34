import { isLoopback, mayCarry, mayCarryTo } from "../protocol/authorization/may-carry.js";
import { isAuthority } from "../protocol/bindings.js";
import type { AgentCard } from "../protocol/model.js";

/** What an interface is not called with, as reasons for people. */
export interface SecretPlace {
  /** Why it gets no credentials; `undefined` if it may have them. */
  readonly noCredentials: string | undefined;
  /** Why it is not called with these headers; `undefined` if it may have them. */
  readonly noHeaders: (names: readonly string[]) => string | undefined;
}

/** An interface, and what its caller trusts. */
export interface PlaceFacts {
  readonly card: AgentCard;
  /** Where the card was read. A caller that passes the card itself answers for its interfaces. */
  readonly cardUrl: string | undefined;
  readonly binding: string;
  readonly url: string;
  /** Whether it is called over TLS. */
  readonly secure: boolean;
  /** Default: none. */
  readonly trustedOrigins?: readonly string[] | undefined;
  /** Default: false. */
  readonly allowPlaintext?: boolean | undefined;
}

const plaintext = "credentials are not sent in plain text to another machine (allowPlaintext)";

/**
 * A card may name any server, so secrets go to the host of the card, on any port, and to the origins that the caller
 * trusts.
 */
export function secretPlace(facts: PlaceFacts): SecretPlace {
  const { card, binding, url, secure, allowPlaintext = false } = facts;
  const host = url.replace(/^\w+:\/\//, "").replace(/[/?#].*$/s, "");
  const isHost = isAuthority(binding);
  const safe = isHost ? mayCarryTo({ secure, host }, allowPlaintext) : allowPlaintext || mayCarry(url, false);
  const foreign = foreignPlace(URL.parse(isHost ? `${secure ? "https" : "http"}://${host}` : url), facts);
  return {
    noCredentials: foreign ?? (safe ? undefined : plaintext),
    noHeaders: (names) => (names.some((name) => isSecret(name.toLowerCase(), card)) ? foreign : undefined),
  };
}

function foreignPlace(place: URL | null, { cardUrl, trustedOrigins = [] }: PlaceFacts): string | undefined {
  if (cardUrl === undefined || (place !== null && isSameHost(cardUrl, place))) return undefined;
  const origin = place?.origin ?? "its origin";
  // An address of a kind that only a transport of the caller's own understands has none.
  if (origin === "null" || trustedOrigins.includes(origin)) return undefined;
  return `secrets go to ${new URL(cardUrl).hostname} only, unless trustedOrigins lists ${origin}`;
}

/** Whether two URLs have one host; all names of this machine are one. */
export function isSameHost(one: string | URL, other: string | URL): boolean {
  const [{ hostname: own }, { hostname }] = [new URL(one), new URL(other)];
  return own === hostname || (isLoopback(own) && isLoopback(hostname));
}

const secretHeaders = new Set(["authorization", "cookie", "proxy-authorization"]);

function isSecret(name: string, { securitySchemes }: AgentCard): boolean {
  return (
    secretHeaders.has(name) ||
    Object.values(securitySchemes).some(
      ({ scheme: { case: kind, value } }) =>
        kind === "apiKeySecurityScheme" && value.location === "header" && value.name.toLowerCase() === name,
    )
  );
}
