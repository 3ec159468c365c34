import type { Service } from "../binding/service.js";
import type { Principal } from "../protocol/context.js";

const nameForm = /^[\w!#$%&'*+.^`|~-]+$/;

// Headers that describe the call itself. The gateway's own calls set their own.
const own: ReadonlySet<string> = new Set([
  "a2a-extensions",
  "a2a-version",
  "accept",
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "last-event-id",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
  "x-a2a-extensions",
]);

/** The lower-case names of headers to forward. Throws a `TypeError` for one that belongs to the call itself. */
export function forwardedNames(names: readonly string[] = []): readonly string[] {
  const lower = [...new Set(names.map((name) => name.toLowerCase()))];
  const wrong = lower.find((name) => !nameForm.test(name));
  if (wrong !== undefined) throw new TypeError(`forward: ${JSON.stringify(wrong)} is not the name of a header`);
  const tied = lower.find((name) => own.has(name) || name.startsWith("grpc-") || name.endsWith("-bin"));
  if (tied !== undefined) throw new TypeError(`forward: ${tied} belongs to the call of the gateway itself: remove it`);
  return lower;
}

/** Headers of callers, from authentication to their upstream call. */
export interface HeaderForwarding {
  /** Wraps the authentication. */
  readonly wrapAuthenticate: (authenticate: Service["authenticate"]) => Service["authenticate"];
  /** The headers of the principal's current call. */
  of(principal: Principal): Readonly<Record<string, string>>;
}

/** Keeps only the named headers, for the duration of their call. */
export function createForwarding(names: readonly string[]): HeaderForwarding {
  const brought = new WeakMap<Principal, Readonly<Record<string, string>>>();
  return {
    wrapAuthenticate: (authenticate) => {
      if (names.length === 0) return authenticate;
      return async (head, request) => {
        // A new object for each call: concurrent calls of one caller may have different headers.
        const identified = await authenticate(head, request);
        const principal = { ...identified.principal };
        const values = names.map((name) => [name, head.header(name)] as const);
        const present = values.filter((entry): entry is [string, string] => entry[1] !== undefined);
        brought.set(principal, Object.fromEntries(present));
        return { ...identified, principal };
      };
    },
    of: (principal) => brought.get(principal) ?? none,
  };
}

const none: Readonly<Record<string, string>> = {};
