import { createHttpJsonTransport } from "../binding/http-json/client.js";
import { createJsonRpcTransport } from "../binding/json-rpc/client.js";
import type { ClientBindings } from "./transports.js";

/** The client end of each binding where there is nothing but `fetch`. What a call may never need is loaded when it does. */
export const webBindings: ClientBindings = {
  JSONRPC: ({ jsonRpc: adapter }, { url, isGuess }, setting) =>
    adapter && createJsonRpcTransport({ ...setting, url, adapter, isGuess }),
  "HTTP+JSON": ({ httpJson: adapter }, { url }, setting) =>
    adapter && createHttpJsonTransport({ ...setting, url, adapter }),
  // A page can speak gRPC-Web. Agents that serve gRPC alone do not answer it, and the next interface is tried.
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
