import { isIPv6 } from "node:net";
import { type ChannelCredentials, type ChannelOptions, credentials } from "@grpc/grpc-js";
import { ConnectionError } from "../../protocol/errors.js";
import { type AddressPolicy, allowedAddresses, ForbiddenAddressError, type Lookup } from "../fetch/address-policy.js";
import type { ClientTls } from "../fetch/client-tls.js";

const schemes = /^(https?|grpcs?):\/\//i;

/** Returns the address for grpc-js. A card's interface is `host:port`; some peers write a URL. */
export function targetOf(address: string): string {
  const scheme = schemes.exec(address)?.[1]?.toLowerCase();
  if (scheme === undefined) return address;
  const authority = address.slice(scheme.length + 3).replace(/[/?#].*$/s, "");
  if (/:\d+$/.test(authority)) return authority;
  return `${authority}:${isSecure(address) ? 443 : 80}`;
}

export function credentialsOf(address: string, tls: ClientTls | true | undefined): ChannelCredentials {
  if (tls === undefined && !isSecure(address)) return credentials.createInsecure();
  const { ca, key, cert } = tls === undefined || tls === true ? {} : tls;
  return credentials.createSsl(pem(ca), pem(key), pem(cert));
}

/** One target to connect to. */
export interface ConnectTarget {
  readonly target: string;
  readonly options: ChannelOptions;
}

const hostAndPort = /^(\[[\da-f:.]+\]|[^:/?#@[\]]+)(?::(\d{1,5}))?$/i;

/**
 * Returns the agent's targets at addresses that the policy allows, one per address family. Throws
 * `ForbiddenAddressError`.
 */
export async function allowedTargets(
  address: string,
  policy: AddressPolicy,
  lookup?: Lookup,
): Promise<readonly ConnectTarget[]> {
  const resolver = /^(?:dns|ipv4|ipv6|unix|unix-abstract|xds|passthrough|vsock):(?!\d{1,5}$)/i.exec(address)?.[0];
  if (resolver !== undefined) {
    const accepted = "host:port, or a URL of http, https, grpc or grpcs";
    const message = `${address} needs gRPC's resolver ${resolver}, which is not supported (accepted: ${accepted})`;
    throw new ConnectionError(message, { written: false, isFinal: true });
  }
  const [authority, host = "", port = "443"] = hostAndPort.exec(targetOf(address)) ?? [];
  // grpc-js accepts other forms, such as Unix sockets.
  if (authority === undefined) throw new ForbiddenAddressError(address, policy);
  const addresses = await allowedAddresses(URL.parse(`http://${host}`)?.hostname ?? host, policy, lookup);
  const isLiteral = addresses.length === 1 && host.replace(/^\[|\]$/g, "") === addresses[0];
  const options = {
    "grpc.default_authority": authority,
    // A proxy would resolve the name itself.
    "grpc.enable_http_proxy": 0,
    // The name that the certificate must match.
    ...(isLiteral ? {} : { "grpc.ssl_target_name_override": host }),
  };
  const families = Map.groupBy(addresses, isIPv6);
  return [...families].map(([isSix, group]) => {
    const authorities = group.map((each) => (isSix ? `[${each}]:${port}` : `${each}:${port}`));
    return { target: `${isSix ? "ipv6" : "ipv4"}:${authorities.join(",")}`, options };
  });
}

function isSecure(address: string): boolean {
  return /^(https|grpcs):/i.test(address);
}

function pem(text: string | undefined): Buffer | null {
  return text === undefined ? null : Buffer.from(text);
}
