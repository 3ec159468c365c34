import type { TlsOptions } from "node:tls";
import type { Service } from "../binding/service.js";
import type { Clock } from "../protocol/async/clock.js";
import type { CallOrigin, IdentifiedCaller, PeerCertificate, Principal } from "../protocol/context.js";
import type { Logger } from "../protocol/logger.js";
import { isLoopback } from "../protocol/loopback.js";
import type { BaseServerOptions, ListenOptions } from "./options.js";

// Who calls, the first stage of every call, decided by headers alone.
//
// With `auth`, the security schemes of the card check the caller; with `authenticate`, the program's function does;
// without them every caller is `anonymous`, and the port must not be reachable from other machines unless the options
// allow it. This file is in every start. What checks callers is in `authentication-schemes.ts`, loaded where one of the
// options is given.

/** The headers or metadata of a call, passed to `authenticate` before the body is read. */
export interface Caller {
  /** The binding of the call, or `"in-process"`. */
  readonly binding: CallOrigin;
  /**
   * A header or metadata value; names are case-insensitive. Several of one name are joined by `, `. A call with different
   * `Authorization` headers is refused before `authenticate` is called.
   */
  header(name: string): string | undefined;
  /**
   * The token of `Authorization: Bearer …`, unchecked. `undefined` without such a header, and for other schemes.
   */
  readonly bearer: string | undefined;
  /** The address of the peer, without the port. `undefined` in process, and if the framework does not report it. */
  readonly address: string | undefined;
  /** The verified client certificate of the TLS connection, or the one that a trusted proxy reports. */
  certificate(): PeerCertificate | undefined;
  /**
   * A parameter of the query string. `undefined` over gRPC and in process. Throws `invalidRequest` for different values.
   */
  query(name: string): string | undefined;
  /**
   * The framework's request, with what middleware before the agent added to it: `req` of Node and Express, `request` of
   * Fastify, the context of Koa and Hono, the `Request` of `fetch()`. `undefined` over gRPC and in process.
   */
  readonly request?: unknown;
}

/**
 * Identifies the caller. `undefined` refuses the call as `unauthenticated`. The caller gets an `A2AError` that it
 * throws; any other error refuses the call too, but its reason is only logged.
 */
export type Authenticate = (caller: Caller) => Principal | undefined | Promise<Principal | undefined>;

export type AuthenticationOptions = BaseServerOptions & Pick<ListenOptions, "tls">;

/** The first stage of every call: who it is. */
export interface Authentication {
  readonly identify: Service["authenticate"];
  /** Closes the connections to authorization servers. */
  close(): Promise<void>;
}

/** Whether each call is authenticated. */
export function isAuthenticated({ auth, authenticate }: BaseServerOptions): boolean {
  return auth !== undefined || authenticate !== undefined;
}

/** Throws unless the options say who may call from other machines. */
export function assertCallersKnown(options: BaseServerOptions, host: string, what = `host ${host}`): void {
  // Every caller who reaches the port could read all tasks, so the option must say so explicitly.
  if (isAuthenticated(options) || options.anonymous === "shared" || isLoopback(host, "listen")) return;
  throw new TypeError(
    `${what} can be reached from other machines: give \`auth\` or \`authenticate\`, or set \`anonymous: "shared"\` to let all callers share all tasks`,
  );
}

/** The one principal of an agent without `auth` and `authenticate`. */
export const anonymous: Principal = Object.freeze({ owner: "anonymous" });

const everyone: IdentifiedCaller = { principal: anonymous };

/** Opens what identifies callers by the options. Without them, every caller is `anonymous`. */
export async function openAuthentication(
  options: AuthenticationOptions,
  parts: { readonly clock: Clock; readonly logger: Logger },
): Promise<Authentication> {
  const { auth, authenticate } = options;
  const schemes = await loadSchemes(options);
  if (schemes !== undefined && auth !== undefined) return schemes.authenticateBySchemes(auth, options, parts);
  if (schemes !== undefined && authenticate !== undefined)
    return schemes.authenticateByFunction(authenticate, options, parts);
  return { identify: () => everyone, close: async () => {} };
}

/** Loads what checks callers. `undefined` when no option says who may call. */
export async function loadSchemes(
  options: BaseServerOptions,
): Promise<typeof import("./authentication-schemes.js") | undefined> {
  return isAuthenticated(options) || options.securityDeclaration !== undefined
    ? await import("./authentication-schemes.js")
    : undefined;
}

/**
 * The TLS options, which ask callers for certificates where a scheme reads them. A caller may come without one: the card is
 * public, and another alternative may do.
 */
export function askForCertificates({ tls, auth }: AuthenticationOptions): TlsOptions | undefined {
  const schemes = Object.values(auth?.schemes ?? {}).filter(({ needsCertificate }) => needsCertificate === true);
  if (tls === undefined || schemes.length === 0) return tls;
  const authorities = schemes.flatMap(({ clientAuthorities = [] }) => clientAuthorities);
  const serverAuthorities = tls.ca === undefined ? [] : [tls.ca].flat();
  return { ...tls, ca: [...serverAuthorities, ...authorities], requestCert: true, rejectUnauthorized: false };
}
