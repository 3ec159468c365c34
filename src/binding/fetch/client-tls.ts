/** PEM certificates of a client. */
export interface ClientTls {
  /** Trusted authorities, instead of the system's. */
  readonly ca?: string | undefined;
  /** The client certificate and its key, for servers that ask for one. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}
