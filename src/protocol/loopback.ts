/** The use of a host name. It decides which spellings of this machine are trusted. */
type HostUse = "connect" | "secret" | "listen";

const ipv4 = String.raw`127(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}`;
const mappedIpv4 = String.raw`::ffff:(?:${ipv4}|7f[\da-f]{2}:[\da-f]{1,4})`;

const hostForms: Readonly<Record<HostUse, RegExp>> = {
  connect: new RegExp(String.raw`^(?:(?:(?:.*\.)?localhost|${ipv4})\.?|\[?(?:::1|${mappedIpv4})\]?)$`),
  // Not every resolver takes the other forms for this machine.
  secret: new RegExp(String.raw`^(?:(?:.+\.)?localhost|${ipv4}|\[::1\])$`),
  // Node resolves names to listen on by DNS, which may know those below `localhost`.
  listen: new RegExp(`^(?:localhost|${ipv4}|::1)$`),
};

/** Whether a host is this machine. Takes a name or an address as `URL.hostname` or a socket writes it. */
export function isLoopback(host: string, use: HostUse = "connect"): boolean {
  return hostForms[use].test(host);
}
