import { clientPolicy } from "../binding/fetch/address-policy.js";
import { createNodeFetch } from "../binding/fetch/node-fetch.js";
import { loadPackage } from "../protocol/load-package.js";
import { loadOpenTelemetry } from "../telemetry/api.js";
import { announceTimeouts } from "./announced-timeouts.js";
import { webBindings } from "./bindings.js";
import { createCardCache } from "./card/card-cache.js";
import { type ClientFactory, clientFactory } from "./connect.js";
import type { NetworkOptions, Platform } from "./platform.js";
import { LastingStream } from "./stream/lasting-stream.js";
import { type ClientBindings, transportsFor } from "./transports.js";

/** gRPC is loaded when a card names it, since loading takes longer than the rest of a first call. */
const nodeBindings: ClientBindings = {
  ...webBindings,
  GRPC: async ({ grpc: adapter }, { url: address }, { tls, isSecure, ...setting }) => {
    const { createGrpcTransport } = await loadPackage("@grpc/grpc-js", () => import("../binding/grpc/client.js"));
    const secure = isSecure(address) ? (tls ?? true) : undefined;
    return adapter && createGrpcTransport({ ...setting, address, adapter, tls: secure });
  },
};

export const nodePlatform: Platform = {
  transports: (versions) => transportsFor(nodeBindings, versions).map(announceTimeouts),
  cardCache: createCardCache(),
  lastingStream: LastingStream,
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
    const { observePlatform } = await import("./telemetry/observed-platform.js");
    const base = observePlatform(nodePlatform, api, options?.telemetry?.exceptions ?? "full");
    return clientFactory(base).connect(agent, options);
  },
};
