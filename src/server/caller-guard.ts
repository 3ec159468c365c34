import type { TlsOptions } from "node:tls";
import type { Service } from "../binding/service.js";
import { isLoopback as isLoopbackHost } from "../protocol/loopback.js";
import { everyone } from "./anonymous.js";
import type { HostOptions, ListenOptions } from "./options.js";

export type CallerGuardOptions = Pick<
  HostOptions & ListenOptions,
  "auth" | "authenticate" | "securityDeclaration" | "trustProxy" | "tls" | "rate"
>;

/** The first stage of every call: who it is. */
export interface CallerGuard {
  readonly identify: Service["authenticate"];
  /** Closes the connections to authorization servers. */
  close(): Promise<void>;
}

/** Whether each call is authenticated. */
export function isAuthenticated({ auth, authenticate }: Pick<HostOptions, "auth" | "authenticate">): boolean {
  return auth !== undefined || authenticate !== undefined;
}

/** Throws unless the options say who may call from other machines. */
export function assertGuarded(
  options: Pick<HostOptions, "auth" | "authenticate" | "anonymous">,
  host: string,
  what = `host ${host}`,
): void {
  // Every caller who reaches the port could read all tasks, so the option must say so explicitly.
  if (isAuthenticated(options) || options.anonymous === "shared" || isLoopback(host)) return;
  throw new TypeError(
    `${what} can be reached from other machines: give \`auth\` or \`authenticate\`, or set \`anonymous: "shared"\` to let all callers share all tasks`,
  );
}

/** True for addresses that only this machine reaches. */
export function isLoopback(host: string): boolean {
  return isLoopbackHost(host, "listen");
}

/** Accepts every caller as the same principal. */
export const openGuard: CallerGuard = { identify: () => everyone, close: async () => {} };

/**
 * The TLS options, which ask callers for certificates where a scheme reads them. A caller may come without one: the card is
 * public, and another alternative may do.
 */
export function tlsWithAuth({ tls, auth }: Pick<CallerGuardOptions, "tls" | "auth">): TlsOptions | undefined {
  const schemes = Object.values(auth?.schemes ?? {}).filter(({ needsCertificate }) => needsCertificate === true);
  if (tls === undefined || schemes.length === 0) return tls;
  const authorities = schemes.flatMap(({ clientAuthorities = [] }) => clientAuthorities);
  const serverAuthorities = tls.ca === undefined ? [] : [tls.ca].flat();
  return { ...tls, ca: [...serverAuthorities, ...authorities], requestCert: true, rejectUnauthorized: false };
}
