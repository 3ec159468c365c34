import type { TlsOptions } from "node:tls";
import type { Service } from "../binding/service.js";
import { everyone } from "./anonymous.js";
import type { HostOptions, ListenOptions } from "./options.js";

export type GuardingOptions = Pick<
  HostOptions & ListenOptions,
  "auth" | "authenticate" | "declares" | "trustProxy" | "tls" | "rate"
>;

/** The first stage of every call: who it is. */
export interface Guarding {
  readonly identify: Service["authenticate"];
  /** Closes the connections to authorization servers. */
  close(): Promise<void>;
}

/** Whether each call is authenticated. */
export function isAuthenticated({ auth, authenticate }: Pick<HostOptions, "auth" | "authenticate">): boolean {
  return auth !== undefined || authenticate !== undefined;
}

/** Lets every caller in, as one. */
export const openGuarding: Guarding = { identify: () => everyone, close: async () => {} };

/**
 * The TLS options, which ask callers for certificates where a scheme reads them. A caller may come without one: the card is
 * public, and another alternative may do.
 */
export function tlsWithAuth({ tls, auth }: Pick<GuardingOptions, "tls" | "auth">): TlsOptions | undefined {
  const schemes = Object.values(auth?.schemes ?? {}).filter(({ needsCertificate }) => needsCertificate === true);
  if (tls === undefined || schemes.length === 0) return tls;
  const authorities = schemes.flatMap(({ clientAuthorities = [] }) => clientAuthorities);
  const own = tls.ca === undefined ? [] : [tls.ca].flat();
  return { ...tls, ca: [...own, ...authorities], requestCert: true, rejectUnauthorized: false };
}
