import type { Service } from "../binding/service.js";
import type { Principal } from "../protocol/context.js";
import { isHttpToken } from "../protocol/http-token.js";

// The headers of a caller that the option `forward` passes on to the agent. Any header can be forwarded except those in
// `ownHeaders`, which belong to the call of the gateway itself. Headers between the agents of one server are chosen in
// `server/local-clients.ts`; those that pages of other origins may send and read are in `binding/http/cors.ts`.

// Headers that describe the call itself. The gateway's own calls set their own.
const ownHeaders: ReadonlySet<string> = new Set([
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
export function checkForwardNames(names: readonly string[] = []): readonly string[] {
  const lowerNames = [...new Set(names.map((name) => name.toLowerCase()))];
  const invalidName = lowerNames.find((name) => !isHttpToken(name));
  if (invalidName !== undefined)
    throw new TypeError(`forward: ${JSON.stringify(invalidName)} is not the name of a header`);
  const ownName = lowerNames.find((name) => ownHeaders.has(name) || name.startsWith("grpc-") || name.endsWith("-bin"));
  if (ownName !== undefined)
    throw new TypeError(`forward: ${ownName} belongs to the call of the gateway itself: remove it`);
  return lowerNames;
}

/** Headers of callers, from authentication to their upstream call. */
export interface HeaderForwarding {
  /** Wraps the authentication. */
  readonly wrapAuthenticate: (authenticate: Service["authenticate"]) => Service["authenticate"];
  /** The headers of the principal's current call. */
  selectHeaders(principal: Principal): Readonly<Record<string, string>>;
}

/** Keeps only the named headers, for the duration of their call. */
export function createForwarding(names: readonly string[]): HeaderForwarding {
  const headersByPrincipal = new WeakMap<Principal, Readonly<Record<string, string>>>();
  return {
    wrapAuthenticate: (authenticate) => {
      if (names.length === 0) return authenticate;
      return async (head, request) => {
        // A new object for each call: concurrent calls of one caller may have different headers.
        const caller = await authenticate(head, request);
        const principal = { ...caller.principal };
        const values = names.map((name) => [name, head.header(name)] as const);
        const present = values.filter((entry): entry is [string, string] => entry[1] !== undefined);
        headersByPrincipal.set(principal, Object.fromEntries(present));
        return { ...caller, principal };
      };
    },
    selectHeaders: (principal) => headersByPrincipal.get(principal) ?? noHeaders,
  };
}

const noHeaders: Readonly<Record<string, string>> = {};
