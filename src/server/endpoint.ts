import { cors } from "../binding/http/cors.js";
import type { HttpEndpoint, HttpRequest } from "../binding/http/http.js";
import { mount } from "../binding/http/mount.js";
import { httpJsonEndpoint } from "../binding/http-json/server.js";
import { extendedCardEndpoint } from "../binding/json-rpc/extended-card.js";
import { jsonRpcEndpoint } from "../binding/json-rpc/server.js";
import type { Service } from "../binding/service.js";
import { bindingTable } from "../card/mounts.js";
import type { Binding } from "../protocol/context.js";
import type { Version } from "../version/codec.js";
import type { HostOptions } from "./options.js";

/** What is mounted, and what answers there. */
export interface EndpointOptions {
  readonly bindings: readonly Binding[];
  readonly versions: readonly Version[];
  readonly service: Service;
  readonly card: HttpEndpoint;
}

/** The protocol's endpoints by path; whatever is none of them is left to the server around. */
export function createEndpoint(
  options: Pick<HostOptions, "basePath" | "cors">,
  { bindings, versions, service, card }: EndpointOptions,
): HttpEndpoint {
  const rpcAdapters = bindings.includes("json-rpc") ? versions.flatMap(({ jsonRpc }) => jsonRpc ?? []) : [];
  const httpAdapters = bindings.includes("http-json")
    ? versions.flatMap(({ httpJson, httpJsonOthers = [] }) => [
        ...(httpJson === undefined ? [] : [httpJson]),
        ...httpJsonOthers,
      ])
    : [];
  const jsonRpc = rpcAdapters.length === 0 ? nobody : jsonRpcEndpoint({ adapters: rpcAdapters, service });
  const httpJson = httpAdapters.length === 0 ? nobody : httpJsonEndpoint({ adapters: httpAdapters, service });
  const httpJsonBelow = mount(bindingTable["http-json"].path, httpJson);
  const jsonRpcBelow = mount(bindingTable["json-rpc"].path, jsonRpc);
  const extendedCard = extendedCardEndpoint({ adapters: rpcAdapters, service });
  const connect = lazyConnect(versions, service);
  const route: HttpEndpoint = (request) => {
    const { path } = request;
    if (path.startsWith("/.well-known/")) return card(request);
    if (path.startsWith(bindingTable["http-json"].path)) return httpJsonBelow(request);
    if (path.startsWith(bindingTable["json-rpc"].path)) return jsonRpcBelow(request);
    // The root is an alias of JSON-RPC for calls; what a browser asks for there is somebody else's.
    if (path === "/" || path === "") return request.method === "POST" ? jsonRpc(request) : undefined;
    return extendedCard(request) ?? connect(request);
  };
  const open = options.cors === undefined ? route : cors(route, options.cors);
  return mount(options.basePath ?? "", open);
}

const nobody: HttpEndpoint = () => undefined;

// Connect and gRPC-Web are loaded with the first call of theirs.
function lazyConnect(versions: readonly Version[], service: Service): HttpEndpoint {
  const adapters = versions.flatMap((version) => version.grpc ?? []);
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
