import { withTimeout } from "../binding/deadline.js";
import { clientPolicy } from "../binding/fetch/address-policy.js";
import { createNodeFetch } from "../binding/fetch/node-fetch.js";
import { createTransport } from "../binding/transport.js";
import type { Binding } from "../protocol/bindings.js";
import { loadPackage } from "../protocol/load-package.js";
import { invokeStream, invokeUnary } from "../protocol/operations.js";
import { loadOpenTelemetry } from "../telemetry/api.js";
import { webBindings } from "./bindings.js";
import { createCardCache } from "./card/card-cache.js";
import { type ClientFactory, clientFactory } from "./connect.js";
import type { NetworkOptions, Platform } from "./platform.js";
import { ResumingStream } from "./stream/resuming-stream.js";
import { type ClientBindings, transportsFor } from "./transports.js";

/** The browser's bindings, which here also send each call's time limit, and gRPC over HTTP/2. */
const nodeBindings: ClientBindings = {
  ...webBindings,
  JSONRPC: announceTimeouts(webBindings.JSONRPC),
  "HTTP+JSON": announceTimeouts(webBindings["HTTP+JSON"]),
  // Loaded when a card names it, since loading takes longer than the rest of a first call.
  GRPC: async ({ grpc: adapter }, { url: address }, { tls, isSecure, ...setting }) => {
    const { createGrpcTransport } = await loadPackage("@grpc/grpc-js", () => import("../binding/grpc/client.js"));
    const secure = isSecure(address) ? (tls ?? true) : undefined;
    return adapter && createGrpcTransport({ ...setting, address, adapter, tls: secure });
  },
};

/**
 * A binding that sends the time limits of its calls, as gRPC and Connect do by themselves. Not in browsers, where an
 * agent of another origin would have to allow the header.
 */
function announceTimeouts(binding: ClientBindings[Binding]): ClientBindings[Binding] {
  return async (version, address, setting) => {
    const transport = await binding(version, address, setting);
    if (transport === undefined) return undefined;
    const calls = createTransport({
      unary: (operation, request, options) => invokeUnary(transport, operation, request, withTimeout(options)),
      stream: (operation, request, options) => invokeStream(transport, operation, request, withTimeout(options)),
    });
    return { ...transport, ...calls };
  };
}

export const nodePlatform: Platform = {
  transports: (versions) => transportsFor(nodeBindings, versions),
  cardCache: createCardCache(),
  resumingStream: ResumingStream,
  network({ connectTimeoutMs, tls, namedBy, cardUrl, allowPrivate }: NetworkOptions) {
    const redirectPolicy = clientPolicy({ allowPrivate, cardHost: URL.parse(cardUrl ?? "")?.hostname });
    // An address given by the caller is allowed unless `allowPrivate` is false.
    const policy = namedBy === "caller" && allowPrivate !== false ? undefined : redirectPolicy;
    const fetch = createNodeFetch({ connectTimeoutMs, tls, policy, redirectPolicy });
    return { fetch, policy, close: () => fetch.close() };
  },
};

/** Creates clients for Node. Their calls are followed once an SDK of OpenTelemetry has been started. */
export const nodeClients: ClientFactory = {
  async connect(agent, options) {
    const api = await loadOpenTelemetry(undefined);
    if (api === undefined) return clientFactory(nodePlatform).connect(agent, options);
    const { observePlatform } = await import("./observed-platform.js");
    const base = observePlatform(nodePlatform, api, options?.telemetry?.exceptions ?? "full");
    return clientFactory(base).connect(agent, options);
  },
};
