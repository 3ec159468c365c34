import type { GrpcServer } from "../binding/grpc/server.js";
import type { HttpEndpoint, HttpRequest } from "../binding/http/http.js";
import { httpJsonEndpoint } from "../binding/http-json/server.js";
import { extendedCardEndpoint } from "../binding/json-rpc/extended-card.js";
import { jsonRpcEndpoint } from "../binding/json-rpc/server.js";
import type { RequestListener } from "../binding/listen/connection.js";
import type { Http2Engine } from "../binding/listen/http2-engine.js";
import type { OpenUnsent } from "../binding/listen/unsent.js";
import type { AddressedService, Service } from "../binding/service.js";
import type { Binding } from "../protocol/bindings.js";
import type { ReadHeader } from "../protocol/context.js";
import type { A2AError } from "../protocol/errors.js";
import type { Logger } from "../protocol/logger.js";
import type { Version } from "../version/codec.js";
import type { Limits } from "./limits.js";

// The server sides of all bindings, one row for each row of the table in `protocol/bindings.ts`.
//
// A browser's client loads none of this: the client sides are in `client/bindings.ts`.

/** How a binding is served. */
export interface BindingSetting {
  readonly versions: readonly Version[];
  readonly service: Service;
}

/** The HTTP requests that a binding answers. */
interface Routes {
  /** Requests below its path. */
  readonly below?: HttpEndpoint | undefined;
  /** `POST` at the agent's base. */
  readonly root?: HttpEndpoint | undefined;
  /** Requests elsewhere below the base; `undefined` for requests of others. */
  readonly beside?: HttpEndpoint | undefined;
}

/** Dependencies of a binding with its own connections. */
export interface EngineSetting {
  /** The versions of all agents, newest first. */
  readonly versions: readonly Version[];
  /** Finds the service at an authority (`host:port`). */
  readonly at: (authority: string) => AddressedService;
  readonly limits: Limits;
  /** Books what the peers of HTTP/2 do not take. */
  readonly unsent: OpenUnsent;
  readonly logger: Logger;
  /** Whether to serve gRPC reflection. Default: true. */
  readonly reflection?: boolean | undefined;
  /** Whether agents may come later that serve more than `versions`. Default: false. */
  readonly grows?: boolean | undefined;
  /** Returns why a call is refused, before anything else of it is checked. */
  readonly refuse: ((header: ReadHeader) => A2AError | undefined) | undefined;
}

/** A binding that accepts the HTTP/2 connections of a port. */
export interface ConnectionEngine {
  /** Serves further versions, those of an agent that comes later. */
  register(versions: readonly Version[]): void;
  /** Reports to callers that watch its health. */
  setServing(serving: boolean): void;
  /** Accepts the connections and passes other requests to `http`; without `http` they are refused. Loads the code. */
  connect(http: RequestListener | undefined): Promise<Http2Engine>;
}

/** The server side of a binding: HTTP requests, connections, or both. */
interface ServerBinding {
  /** Whether it is served, though not on the card, when the options list no bindings. */
  readonly isServedUnlisted?: boolean;
  routes?(setting: BindingSetting): Routes;
  /**
   * The protocol that its connections are upgraded to, lower-case: `"websocket"`. The request is routed like any other, so
   * its endpoint authenticates the caller first. Then it takes over the socket of the native request, keeps its own time
   * limits, and replies when the socket has closed; an earlier reply refuses the upgrade. When the server closes, such
   * connections end two seconds after the last call at the latest. Needs a port of `serve`.
   */
  readonly upgrade?: string;
  /** Needs a port of `serve`. `undefined` when no version has the binding. */
  engine?(setting: EngineSetting): ConnectionEngine | undefined;
}

/** How each binding is served. */
export const serverBindings: Readonly<Record<Binding, ServerBinding>> = {
  JSONRPC: {
    routes({ versions, service }) {
      const adapters = versions.flatMap(({ jsonRpc }) => jsonRpc ?? []);
      if (adapters.length === 0) return {};
      const endpoint = jsonRpcEndpoint({ adapters, service });
      return { below: endpoint, root: endpoint, beside: extendedCardEndpoint({ adapters, service }) };
    },
  },
  "HTTP+JSON": {
    routes({ versions, service }) {
      const adapters = versions.flatMap(({ httpJson, httpJsonOthers = [] }) => [httpJson ?? [], httpJsonOthers].flat());
      return adapters.length === 0 ? {} : { below: httpJsonEndpoint({ adapters, service }) };
    },
  },
  GRPC: {
    engine({ versions, at, limits, unsent, reflection, refuse, grows }) {
      const listAdapters = (of: readonly Version[]) => of.flatMap(({ grpc }) => grpc ?? []);
      const adapters = listAdapters(versions);
      if (adapters.length === 0 && grows !== true) return undefined;
      let isServing = true;
      let server: GrpcServer | undefined;
      return {
        register(more) {
          adapters.push(...listAdapters(more));
          server?.register(listAdapters(more));
        },
        setServing(serving) {
          isServing = serving;
          server?.setServing(serving);
        },
        async connect(http) {
          const [{ createGrpcServer }, { createGrpcEngine }] = await Promise.all([
            import("../binding/grpc/server.js"),
            import("../binding/grpc/listener.js"),
          ]);
          const grpc = createGrpcServer({ adapters, service: { limits }, at, limits, reflection });
          grpc.setServing(isServing);
          server = grpc;
          return createGrpcEngine({ grpc, http, limits, unsent, refuse });
        },
      };
    },
  },
  CONNECT: { isServedUnlisted: true, routes: (setting) => ({ beside: lazyConnect(setting) }) },
};

/** The engine of the first of these bindings that accepts connections: a port has room for one. */
export function createEngine(bindings: readonly Binding[], setting: EngineSetting): ConnectionEngine | undefined {
  for (const binding of bindings) {
    const engine = serverBindings[binding].engine?.(setting);
    if (engine !== undefined) return engine;
  }
  return undefined;
}

/** The protocols that connections are upgraded to, for any binding: agents that come later may serve others. */
export function upgradedProtocols(): readonly string[] {
  return Object.values(serverBindings).flatMap(({ upgrade = [] }) => upgrade);
}

/** Whether a binding answers plain HTTP requests, so that an existing server can mount it. */
export function isMountable(binding: Binding): boolean {
  const { routes, upgrade } = serverBindings[binding];
  return routes !== undefined && upgrade === undefined;
}

// Loaded with the first call over Connect or gRPC-Web.
function lazyConnect({ versions, service }: BindingSetting): HttpEndpoint {
  const adapters = versions.flatMap(({ grpc }) => grpc ?? []);
  const prefixes = adapters.map((adapter) => `/${adapter.service.typeName}/`);
  let loading: Promise<HttpEndpoint> | undefined;
  return (request: HttpRequest) => {
    if (!prefixes.some((prefix) => request.path.startsWith(prefix))) return undefined;
    loading ??= import("../binding/connect/endpoint.js").then(({ createConnectEndpoint }) =>
      createConnectEndpoint({ adapters, service }),
    );
    return loading.then((endpoint) => endpoint(request));
  };
}
