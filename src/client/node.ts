import { clientPolicy } from "../binding/address-policy.js";
import { createNodeFetch } from "../binding/node-fetch.js";
import { bindingTable } from "../card/mounts.js";
import { v1 } from "../version/v1.0/v1.js";
import { createCardCache } from "./card-cache.js";
import { type Client as AnyClient, type ClientFactory, clientFactory } from "./connect.js";
import type { NetworkOptions, Platform } from "./platform.js";
import { faceOf, faces, type TransportFactory, webTransports } from "./transports.js";

const versions = [v1];

/** gRPC is loaded when a card names it: that takes longer than the rest of a first call. */
const grpcTransport: TransportFactory = {
  binding: bindingTable.grpc.wire,
  ...faces(versions, ({ grpc }) => grpc),
  create: async ({ url, version }, setting) => {
    const { createGrpcTransport } = await import("../binding/grpc/client.js");
    const { tls, isSecure, ...rest } = setting;
    const face = faceOf(versions, version, ({ grpc }) => grpc);
    return createGrpcTransport({ ...rest, address: url, face, tls: isSecure(url) ? (tls ?? true) : undefined });
  },
};

const platform: Platform = {
  versions,
  transports: [...webTransports(versions), grpcTransport],
  cardCache: createCardCache(),
  network({ connectTimeoutMs, tls, trusted }: NetworkOptions) {
    const policy =
      trusted === undefined
        ? undefined
        : clientPolicy({
            allowPrivate: trusted.allowPrivate,
            cardHost: trusted.host,
          });
    const fetch = createNodeFetch({ connectTimeoutMs, tls, policy });
    return { fetch, policy, close: () => fetch.close() };
  },
};

/** Calls an agent over whichever of its interfaces answers: JSON-RPC, HTTP+JSON, gRPC, or Connect. */
export const Client: ClientFactory = clientFactory(platform);
export type Client = AnyClient;
