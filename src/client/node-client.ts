import { clientPolicy } from "../binding/fetch/address-policy.js";
import { createNodeFetch } from "../binding/fetch/node-fetch.js";
import { createCardCache } from "./card/card-cache.js";
import { type ClientFactory, clientFactory } from "./connect.js";
import type { NetworkOptions, Platform } from "./platform.js";
import { grpcAdapterOf, named, type TransportFactory, webTransports } from "./transports.js";
import type { KnownVersions } from "./versions.js";

/** gRPC is loaded when a card names it: that takes longer than the rest of a first call. */
const grpcTransport = (versions: KnownVersions): TransportFactory => ({
  ...named(versions, "grpc"),
  create: async ({ url, version }, setting) => {
    const [{ createGrpcTransport }, adapter] = await Promise.all([
      import("../binding/grpc/client.js"),
      grpcAdapterOf(versions, version),
    ]);
    const { tls, isSecure, ...rest } = setting;
    return createGrpcTransport({ ...rest, address: url, adapter, tls: isSecure(url) ? (tls ?? true) : undefined });
  },
});

const platform: Platform = {
  transports: (versions) => [...webTransports(versions), grpcTransport(versions)],
  cardCache: createCardCache(),
  network({ connectTimeoutMs, tls, namedBy, cardUrl, allowPrivate }: NetworkOptions) {
    const redirectPolicy = clientPolicy({ allowPrivate, cardHost: URL.parse(cardUrl ?? "")?.hostname });
    // An address that the caller passes is called, unless `allowPrivate` is false.
    const policy = namedBy === "caller" && allowPrivate !== false ? undefined : redirectPolicy;
    const fetch = createNodeFetch({ connectTimeoutMs, tls, policy, redirectPolicy });
    return { fetch, policy, close: () => fetch.close() };
  },
};

/** Makes clients that run in Node. */
export const nodeClients: ClientFactory = clientFactory(platform);
