import { maySendSecret, maySendSecretTo } from "../protocol/authorization/may-send-secret.js";
import { isAuthority } from "../protocol/bindings.js";
import { isLoopback } from "../protocol/loopback.js";
import type { AgentCard } from "../protocol/model.js";
import { hasSecretWord } from "../protocol/secret-names.js";

/** Whether an interface may get credentials and headers; a refusal is a reason for people. */
export interface SecretPolicy {
  /** Why it gets no credentials; `undefined` if it may have them. */
  readonly noCredentials: string | undefined;
  /** Why it is not called with these headers; `undefined` if it may have them. */
  readonly noHeaders: (names: readonly string[]) => string | undefined;
}

/** An interface, and what its caller trusts. */
export interface SecretPolicyOptions {
  readonly card: AgentCard;
  /** The card that the caller gave or read. Without `cardUrl` the caller answers for its interfaces. */
  readonly firstCard: AgentCard;
  /** Where the card was read. */
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
export function createSecretPolicy(facts: SecretPolicyOptions): SecretPolicy {
  const { card, binding, url, secure, allowPlaintext = false } = facts;
  const host = hostIn(url);
  const isHost = isAuthority(binding);
  const safe = isHost ? maySendSecretTo({ secure, host }, allowPlaintext) : allowPlaintext || maySendSecret(url, false);
  const foreignReason = foreignPlace(readPlace(binding, url, secure), facts);
  return {
    noCredentials: foreignReason ?? (safe ? undefined : plaintext),
    noHeaders: (names) => (names.some((name) => isSecret(name, card)) ? foreignReason : undefined),
  };
}

// Only the schemes that gRPC's transport knows: a name resolver's target, `dns://server/host`, names another host last.
function hostIn(url: string): string {
  return url.replace(/^(?:https?|grpcs?):\/\//i, "").replace(/[/?#].*$/s, "");
}

function readPlace(binding: string, url: string, secure = true): URL | null {
  return URL.parse(isAuthority(binding) ? `${secure ? "https" : "http"}://${hostIn(url)}` : url);
}

function foreignPlace(place: URL | null, { url, cardUrl, firstCard, trustedOrigins = [] }: SecretPolicyOptions) {
  const callerInterfaces = cardUrl === undefined ? firstCard.supportedInterfaces : [];
  const places =
    cardUrl === undefined
      ? callerInterfaces.map((each) => readPlace(each.protocolBinding, each.url))
      : [new URL(cardUrl)];
  const hosts = places.filter((each) => each !== null);
  const isOwn = place !== null && hosts.some((each) => isSameHost(each, place));
  const origin = place?.origin ?? "its origin";
  // An address of a kind that only a transport of the caller's own understands has none.
  if (
    isOwn ||
    callerInterfaces.some((each) => each.url === url) ||
    origin === "null" ||
    trustedOrigins.includes(origin)
  ) {
    return undefined;
  }
  const names = [...new Set(hosts.map(({ hostname }) => hostname))].join(", ");
  return `secrets go to ${names} only, unless trustedOrigins lists ${origin}`;
}

/** Whether two URLs have one host; all names of this machine are one. */
export function isSameHost(one: string | URL, other: string | URL): boolean {
  const [{ hostname: firstName }, { hostname }] = [new URL(one), new URL(other)];
  return firstName === hostname || (isLoopback(firstName, "secret") && isLoopback(hostname, "secret"));
}

// A card from elsewhere need not declare the API key that the caller has for its agent.
const secretName = /auth|cookie|(?<!idempotency-)key|session|token/;

/** Whether a header or a query parameter of this name holds a secret. */
function isSecret(given: string, { securitySchemes }: AgentCard): boolean {
  const name = given.toLowerCase();
  return (
    secretName.test(name) ||
    hasSecretWord(given) ||
    Object.values(securitySchemes).some(
      ({ scheme: { case: kind, value } }) => kind === "apiKeySecurityScheme" && value.name.toLowerCase() === name,
    )
  );
}
