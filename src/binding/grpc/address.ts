import { type ChannelCredentials, credentials } from "@grpc/grpc-js";

/** Certificates in PEM. */
export interface GrpcTls {
  /** Whom to trust. Default: the authorities of the system. */
  readonly ca?: string | undefined;
  /** Our own certificate and its key, for servers that ask for one. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

const schemes = /^(https?|grpcs?):\/\//i;

/** What grpc-js dials. An interface in a card is `host:port`; some peers write a URL. */
export function targetOf(address: string): string {
  const scheme = schemes.exec(address)?.[1]?.toLowerCase();
  if (scheme === undefined) return address;
  const authority = address.slice(scheme.length + 3).replace(/[/?#].*$/s, "");
  if (/:\d+$/.test(authority)) return authority;
  return `${authority}:${isSecure(address) ? 443 : 80}`;
}

export function credentialsOf(address: string, tls: GrpcTls | true | undefined): ChannelCredentials {
  if (tls === undefined && !isSecure(address)) return credentials.createInsecure();
  const { ca, key, cert } = tls === undefined || tls === true ? {} : tls;
  return credentials.createSsl(pem(ca), pem(key), pem(cert));
}

function isSecure(address: string): boolean {
  return /^(https|grpcs):/i.test(address);
}

function pem(text: string | undefined): Buffer | null {
  return text === undefined ? null : Buffer.from(text);
}
