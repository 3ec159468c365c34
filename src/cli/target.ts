import { bindingTable } from "../card/mounts.js";

/** Bindings that the command line can call. */
export const callBindings = ["json-rpc", "http-json", "grpc"] as const;

export type CallBinding = (typeof callBindings)[number];

/** What to call, and how. */
export interface Target {
  readonly binding: CallBinding;
  readonly address: string;
}

/**
 * Reads an address: the URL of an interface, `host:port` of gRPC, or the base URL of an agent, which is one without a
 * path. Without a binding the address says it. Throws a `TypeError` for what is no address of the binding.
 */
export function targetOf(address: string, wanted?: CallBinding): Target {
  const isHttp = /^https?:\/\//i.test(address) && URL.canParse(address);
  if (!isHttp && !/^(?:grpcs?:\/\/)?[^\s/?#]+:\d{1,5}$/i.test(address)) {
    throw new TypeError(`${address} is neither an http(s) URL nor the host:port of gRPC`);
  }
  const binding = wanted ?? (isHttp ? bindingOfUrl(address) : "grpc");
  if (binding === "grpc") return { binding, address };
  if (!isHttp) throw new TypeError(`${binding} needs an http(s) URL, ${address} is none`);
  const isBase = /^[^/]+\/\/[^/?#]+$/.test(address);
  return { binding, address: isBase ? address + bindingTable[binding].path : address };
}

// An interface of ours says in its path what it speaks; of any other URL JSON-RPC is the likeliest.
function bindingOfUrl(url: string): CallBinding {
  const path = new URL(url).pathname.replace(/\/$/, "");
  const named = callBindings.find((each) => bindingTable[each].path !== "" && path.endsWith(bindingTable[each].path));
  return named ?? "json-rpc";
}
