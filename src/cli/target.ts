import { type Binding, bindingRow, bindings } from "../protocol/bindings.js";

/** The target of a call: an agent by its card, or one interface. */
export type Target =
  | { readonly kind: "agent"; readonly url: string; readonly binding: Binding | undefined }
  | { readonly kind: "interface"; readonly binding: Binding; readonly address: string };

/**
 * Parses an address: an agent's base URL (without a path), a card's URL (ends in `.json`), an interface's URL, or
 * gRPC's `host:port`. Without a binding the address decides. Throws a `TypeError` when the address does not fit the
 * binding.
 */
export function parseTarget(address: string, bindingFlag?: Binding): Target {
  const isHttp = isHttpUrl(address);
  if (!isHttp && !/^(?:grpcs?:\/\/)?[^\s/?#]+:\d{1,5}$/i.test(address)) {
    throw new TypeError(`${address} is neither an http(s) URL nor the host:port of gRPC`);
  }
  if (isHttp && isAgentUrl(address)) return { kind: "agent", url: address, binding: bindingFlag };
  const binding = bindingFlag ?? (isHttp ? guessBinding(address) : "GRPC");
  if (bindingRow(binding).address === "url" && !isHttp)
    throw new TypeError(`${binding} needs an http(s) URL, not ${address}`);
  return { kind: "interface", binding, address };
}

/** The URL of an agent's base or of its card. Throws a `TypeError` unless it is http(s). */
export function agentUrl(address: string): string {
  if (!isHttpUrl(address)) throw new TypeError(`${address} is not an http(s) URL`);
  return address;
}

function isHttpUrl(address: string): boolean {
  return /^https?:\/\//i.test(address) && URL.canParse(address);
}

function isAgentUrl(url: string): boolean {
  return /^[^/]+\/\/[^/?#]+$/.test(url) || new URL(url).pathname.endsWith(".json");
}

// The path of a Trivium interface names its binding. For other URLs JSON-RPC is the likeliest.
function guessBinding(url: string): Binding {
  const path = new URL(url).pathname.replace(/\/$/, "");
  return bindings.find((each) => each.path !== "" && path.endsWith(each.path))?.name ?? "JSONRPC";
}
