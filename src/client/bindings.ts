import { createHttpJsonTransport } from "../binding/http-json/client.js";
import { createJsonRpcTransport } from "../binding/json-rpc/client.js";
import type { ClientBindings } from "./transports.js";

/** The client side of each binding where only `fetch` is available. Rarely needed code is loaded on first use. */
export const webBindings: ClientBindings = {
  JSONRPC: ({ jsonRpc: adapter }, { url, isGuess }, setting) =>
    adapter && createJsonRpcTransport({ ...setting, url, adapter, isGuess }),
  "HTTP+JSON": ({ httpJson: adapter }, { url }, setting) =>
    adapter && createHttpJsonTransport({ ...setting, url, adapter }),
  // A page can use gRPC-Web. Agents that serve only gRPC do not answer it, and the next interface is tried.
  GRPC: async ({ grpc: adapter }, { url }, setting) => {
    const { createConnectTransport } = await import("../binding/connect/client.js");
    const base = `${setting.isSecure(url) ? "https" : "http"}://${url.replace(/^\w+:\/{2,3}/, "")}`;
    return adapter && createConnectTransport({ ...setting, url: base, adapter, protocol: "grpc-web" });
  },
  CONNECT: async ({ grpc: adapter }, { url }, setting) => {
    const { createConnectTransport } = await import("../binding/connect/client.js");
    return adapter && createConnectTransport({ ...setting, url, adapter });
  },
};
