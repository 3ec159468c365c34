import { isLoopback } from "../loopback.js";

/** Whether a secret may be sent to a URL: over TLS, to this machine, or over plaintext where that is allowed. */
export function maySendSecret(url: string, allowPlaintext: boolean): boolean {
  const parsed = URL.parse(url);
  if (parsed?.protocol === "https:") return true;
  return parsed?.protocol === "http:" && (allowPlaintext || isLoopback(parsed.hostname, "secret"));
}

/** Whether a secret may be sent to an address, `host:port` or a host alone. Same rule as for URLs, for gRPC. */
export function maySendSecretTo(
  address: { readonly secure: boolean; readonly host: string },
  allowPlaintext: boolean,
): boolean {
  if (address.secure || allowPlaintext) return true;
  // Only plain hosts: what the URL parser would normalize, another resolver may read differently.
  const parsed = hostForm.test(address.host) ? URL.parse(`http://${address.host}`) : null;
  return parsed !== null && isLoopback(parsed.hostname, "secret");
}

const hostForm = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;
