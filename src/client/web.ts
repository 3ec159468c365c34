import { webBindings } from "./bindings.js";
import { createCardCache } from "./card/card-cache.js";
import { type Client as AnyClient, type ClientFactory, clientFactory } from "./connect.js";
import type { Platform } from "./platform.js";
import { transportsFor } from "./transports.js";

// Headers of calls that may follow any redirect: a browser hides the target, and removes only `Authorization`.
const harmlessNames =
  /^(?:accept|content-type|if-none-match|last-event-id|a2a-(?:version|extensions)|(?:connect|grpc|x-grpc)-.*)$/;

function hasCustomHeaders(headers: RequestInit["headers"]): boolean {
  return [...new Headers(headers).keys()].some((name) => !harmlessNames.test(name));
}

const platform: Platform = {
  transports: (versions) => transportsFor(webBindings, versions),
  cardCache: createCardCache(),
  // The browser decides which addresses a page may call.
  network: () => ({
    fetch: (input, init) => fetch(input, hasCustomHeaders(init?.headers) ? { redirect: "error", ...init } : init),
    close: async () => {},
  }),
};

/**
 * A client for browsers and workers: JSON-RPC and HTTP+JSON, with Connect and gRPC-Web loaded on first use.
 *
 * @example
 * ```ts
 * const client = await Client.connect("https://agent.example");
 * const stream = client.stream("What is the weather in Oslo?");
 * for await (const piece of stream.text) output.append(piece);
 * await client.close();
 * ```
 */
export const Client: ClientFactory = clientFactory(platform);
export type Client = AnyClient;
