import type { Service } from "../binding/service.js";
import type { Principal } from "../protocol/context.js";

const nameForm = /^[\w!#$%&'*+.^`|~-]+$/;

// What a call says of itself. The gateway's own calls say it of themselves.
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

/** The names of headers to pass on, in lower case. Throws a `TypeError` for one that belongs to the call itself. */
export function forwardedNames(names: readonly string[] = []): readonly string[] {
  const lower = [...new Set(names.map((name) => name.toLowerCase()))];
  const wrong = lower.find((name) => !nameForm.test(name));
  if (wrong !== undefined) throw new TypeError(`forward: ${JSON.stringify(wrong)} is not the name of a header`);
  const tied = lower.find((name) => own.has(name) || name.startsWith("grpc-") || name.endsWith("-bin"));
  if (tied !== undefined) throw new TypeError(`forward: ${tied} belongs to the call of the gateway itself`);
  return lower;
}

/** Headers of callers, from authentication to their upstream call. */
export interface Forwarding {
  /** Stands before the question who is asking. */
  readonly wrapAuthenticate: (authenticate: Service["authenticate"]) => Service["authenticate"];
  /** The headers that came with the call of this principal. */
  of(principal: Principal): Readonly<Record<string, string>>;
}

/** Remembers the headers of these names for as long as their call lasts, and no others. */
export function createForwarding(names: readonly string[]): Forwarding {
  const brought = new WeakMap<Principal, Readonly<Record<string, string>>>();
  return {
    wrapAuthenticate: (authenticate) => {
      if (names.length === 0) return authenticate;
      return async (head) => {
        // Of its own for each call: several calls of one caller may bring different headers.
        const principal = { ...(await authenticate(head)) };
        const values = names.map((name) => [name, head.header(name)] as const);
        const present = values.filter((entry): entry is [string, string] => entry[1] !== undefined);
        brought.set(principal, Object.fromEntries(present));
        return principal;
      };
    },
    of: (principal) => brought.get(principal) ?? none,
  };
}

const none: Readonly<Record<string, string>> = {};
