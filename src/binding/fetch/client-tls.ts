/** PEM certificates of a client. */
export interface ClientTls {
  /** Trusted authorities. Default: those of the system. */
  readonly ca?: string | undefined;
  /** The client certificate, for servers that ask for one. Default: none. */
  readonly cert?: string | undefined;
  /** The key of the certificate. Default: none. */
  readonly key?: string | undefined;
}
