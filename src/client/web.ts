import { createCardCache } from "./card/card-cache.js";
import { type Client as AnyClient, type ClientFactory, clientFactory } from "./connect.js";
import type { Platform } from "./platform.js";
import { grpcAdapterOf, named, type TransportFactory, webTransports } from "./transports.js";
import type { KnownVersions } from "./versions.js";

// What a page can speak of gRPC; agents that serve gRPC alone do not answer it, and the next interface is tried.
const grpcWeb = (versions: KnownVersions): TransportFactory => ({
  ...named(versions, "grpc"),
  create: async ({ url, version }, setting) => {
    const [{ createConnectTransport }, adapter] = await Promise.all([
      import("../binding/connect/client.js"),
      grpcAdapterOf(versions, version),
    ]);
    const base = `${setting.isSecure(url) ? "https" : "http"}://${url.replace(/^\w+:\/{2,3}/, "")}`;
    return createConnectTransport({ ...setting, url: base, adapter, protocol: "grpc-web" });
  },
});

// Who may follow a redirect to wherever it leads: a browser shows nobody where that is, and takes only `Authorization` off.
const harmless =
  /^(?:accept|content-type|if-none-match|last-event-id|a2a-(?:version|extensions)|(?:connect|grpc|x-grpc)-.*)$/;

function carriesMore(headers: RequestInit["headers"]): boolean {
  return [...new Headers(headers).keys()].some((name) => !harmless.test(name));
}

const platform: Platform = {
  transports: (versions) => [...webTransports(versions), grpcWeb(versions)],
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
