/** Certificates in PEM, at the client end of a connection. */
export interface ClientTls {
  /** Whom to trust, instead of the authorities of the system. */
  readonly ca?: string | undefined;
  /** Our own certificate and its key, for servers that ask for one. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}
