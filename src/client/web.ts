import { bindingTable } from "../card/mounts.js";
import { v1 } from "../version/v1.0/v1.js";
import { createCardCache } from "./card-cache.js";
import { type Client as AnyClient, type ClientFactory, clientFactory } from "./connect.js";
import type { Platform } from "./platform.js";
import { faceOf, faces, type TransportFactory, webTransports } from "./transports.js";

const versions = [v1];

// What a page can speak of gRPC; agents that serve gRPC alone do not answer it, and the next interface is tried.
const grpcWeb: TransportFactory = {
  binding: bindingTable.grpc.wire,
  ...faces(versions, ({ grpc }) => grpc),
  create: async ({ url, version }, setting) => {
    const { createConnectTransport } = await import("../binding/connect/client.js");
    const base = `${setting.isSecure(url) ? "https" : "http"}://${url.replace(/^\w+:\/{2,3}/, "")}`;
    const face = faceOf(versions, version, ({ grpc }) => grpc);
    return createConnectTransport({ ...setting, url: base, face, protocol: "grpc-web" });
  },
};

// Who may follow a redirect to wherever it leads: a browser shows nobody where that is, and takes only `Authorization` off.
const harmless =
  /^(?:accept|content-type|if-none-match|last-event-id|a2a-(?:version|extensions)|(?:connect|grpc|x-grpc)-.*)$/;

function carriesMore(headers: RequestInit["headers"]): boolean {
  return [...new Headers(headers).keys()].some((name) => !harmless.test(name));
}

const platform: Platform = {
  versions,
  transports: [...webTransports(versions), grpcWeb],
  cardCache: createCardCache(),
  // The browser decides which addresses a page may call.
  network: () => ({
    fetch: (input, init) => fetch(input, carriesMore(init?.headers) ? { redirect: "error", ...init } : init),
    close: async () => {},
  }),
};

/** A client for browsers and workers: JSON-RPC and HTTP+JSON, and Connect or gRPC-Web when they are first needed. */
export const Client: ClientFactory = clientFactory(platform);
export type Client = AnyClient;
