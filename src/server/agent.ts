import type { Middleware } from "koa";
import { cors } from "../binding/cors.js";
import { fetchHandler } from "../binding/fetch-handler.js";
import type { HttpEndpoint, HttpRequest } from "../binding/http.js";
import { httpJsonEndpoint } from "../binding/http-json/server.js";
import { createInProcessTransport, type InProcessOptions } from "../binding/in-process.js";
import { jsonRpcEndpoint } from "../binding/json-rpc/server.js";
import { mount } from "../binding/mount.js";
import { type NodeListener, nodeListener } from "../binding/node-listener.js";
import type { Service } from "../binding/service.js";
import type { Transport } from "../binding/transport.js";
import { namedInputModes } from "../card/build.js";
import { bindingTable, mountsOf } from "../card/mounts.js";
import { allExtensions } from "../card/own-extensions.js";
import { type PublishedCard, publishCard } from "../card/publish.js";
import type { Listening } from "../card/urls.js";
import { systemClock, within } from "../core/clock.js";
import { newId } from "../core/ids.js";
import { createRequestHandler, type RequestHandler } from "../core/request-handler.js";
import type { Binding } from "../protocol/context.js";
import { type Logger, silentLogger } from "../protocol/logger.js";
import type { AgentCard } from "../protocol/model.js";
import { createPush } from "../push/push.js";
import { processSignals } from "../signals/in-process.js";
import { memoryPushStore } from "../store/memory/push-store.js";
import { memoryTaskStore } from "../store/memory/task-store.js";
import type { Version } from "../version/codec.js";
import { createV1 } from "../version/v1.0/v1.js";
import { createDoor, type Door } from "./door.js";
import { type Limits, resolveLimits } from "./limits.js";
import type { AgentOptions } from "./options.js";

/** An agent that can be called in this process, whether or not it has a port. */
export interface InProcessAgent {
  /** The card as somebody at the agent's own address sees it. */
  readonly card: AgentCard;
  /** Calls the agent without a wire; the rest is as over a port: who is asking, limits, extensions, versions. */
  inProcess(options?: Pick<InProcessOptions, "principal" | "version" | "headers">): Transport;
}

/** An agent without a port of its own: mount it in a server that exists. Close it when that server closes. */
export interface MountedAgent extends InProcessAgent {
  /** Express, Connect and bare Node: `(req, res, next?)`. */
  nodeListener(): NodeListener;
  /** Bun, Deno, Next, Hono, workers: `(Request) => Promise<Response>`. */
  fetch(): (request: Request) => Promise<Response>;
  /** Koa. */
  koa(): Promise<Middleware>;
  /** Refuses new work, lets turns end for up to `drainMs` (10 s), then aborts them. */
  close(drainMs?: number): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** An agent with all that `serve` needs to give it a port. */
export interface ComposedAgent extends Pick<InProcessAgent, "inProcess"> {
  readonly endpoint: HttpEndpoint;
  readonly service: Service;
  readonly versions: readonly [Version, ...Version[]];
  readonly bindings: readonly Binding[];
  readonly card: PublishedCard;
  readonly door: Door;
  readonly handler: RequestHandler;
  readonly limits: Limits;
  readonly logger: Logger;
  /** Ends what `handler` leaves: deliveries, and the store when it is ours. */
  dispose(): Promise<void>;
}

const defaultBindings: readonly Binding[] = ["json-rpc", "grpc", "http-json"];

/**
 * Makes an agent to be mounted in a server that exists. gRPC needs `serve`; the card lists JSON-RPC and HTTP+JSON. Throws
 * a `CardError` for a card that contradicts itself.
 */
export async function createAgent(options: AgentOptions): Promise<MountedAgent> {
  const bindings = (options.bindings ?? defaultBindings).filter((binding) => binding !== "grpc");
  const origin = options.publicUrl === undefined ? "http://localhost" : new URL(options.publicUrl).origin;
  const agent = await composeAgent({ ...options, bindings }, () => ({ origin }));
  const close = async (drainMs = 10_000): Promise<void> => {
    agent.door.close();
    await agent.handler.drain(drainMs);
    await agent.dispose();
  };
  return {
    nodeListener: () => nodeListener(agent.endpoint, { bodyTimeoutMs: agent.limits.bodyTimeoutMs }),
    fetch: () => fetchHandler(agent.endpoint, { bodyTimeoutMs: agent.limits.bodyTimeoutMs }),
    koa: async () =>
      (await import("./koa-middleware.js")).koaMiddleware(agent.endpoint, {
        bodyTimeoutMs: agent.limits.bodyTimeoutMs,
      }),
    get card() {
      return agent.card.card();
    },
    inProcess: agent.inProcess,
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

/** Puts an agent together: store, handler, door, bindings and card. */
export async function composeAgent(options: AgentOptions, listening: () => Listening): Promise<ComposedAgent> {
  const { clock = systemClock, logger = silentLogger, signals = processSignals, card, authenticate } = options;
  const limits = resolveLimits(options.limits);
  const versions = [createV1(limits)] as const;
  const bindings = options.bindings ?? defaultBindings;
  const { publicUrl, publicGrpc, trustProxy, basePath } = options;
  const published = publishCard({
    card,
    capabilities: {
      streaming: true,
      pushNotifications: options.push !== undefined,
      authentication: authenticate !== undefined,
    },
    versions,
    urls: { publicUrl, publicGrpc, trustProxy, basePath },
    listening,
    now: clock.now,
  });
  const store = options.store ?? memoryTaskStore({ clock });
  const makeId = (): string => newId(clock.now());
  const door = createDoor({ authenticate, extensions: allExtensions(card), limits, logger, newId: makeId });
  const { capabilities } = published.card();
  const push =
    options.push === undefined
      ? undefined
      : createPush({
          ...options.push,
          store: options.push.store ?? memoryPushStore(),
          tasks: store,
          signals,
          clock,
          logger,
          versions,
          limits,
        });
  const handler = createRequestHandler({
    agent: options.agent,
    store,
    signals,
    clock,
    logger,
    limits,
    streaming: capabilities?.streaming,
    push: capabilities?.pushNotifications === true ? push?.service : undefined,
    inputModes: namedInputModes(card),
    tenants: options.tenants,
    extendedCard: published.extended,
  });
  const service: Service = {
    handler: handler.operations,
    limits,
    versions: versions.map(({ name }) => name),
    strictVersions: options.versions?.strict === true,
    authenticate: door.authenticate,
    extensions: door.extensions,
    enter: door.enter,
    publicError: door.publicError,
  };
  published.mount(mountsOf(bindings, versions));
  const endpoint = createEndpoint(options, { bindings, versions, service, card: published.endpoint });
  return {
    endpoint,
    service,
    versions,
    bindings,
    card: published,
    door,
    handler,
    limits,
    logger,
    inProcess: (own) => createInProcessTransport(handler.operations, { ...own, door: service, limits, clock }),
    async dispose() {
      await handler.close();
      // Streams have been told to end; what is stored they still give.
      await within(clock, limits.graceMs, door.idle());
      await push?.close();
      if (options.store === undefined) await store.close();
    },
  };
}

interface EndpointParts {
  readonly bindings: readonly Binding[];
  readonly versions: readonly Version[];
  readonly service: Service;
  readonly card: HttpEndpoint;
}

// The protocol's endpoints by path; whatever is none of them is left to the server around.
function createEndpoint(options: AgentOptions, { bindings, versions, service, card }: EndpointParts): HttpEndpoint {
  const jsonRpc = bindings.includes("json-rpc")
    ? jsonRpcEndpoint({ faces: versions.flatMap((version) => version.jsonRpc ?? []), service })
    : nobody;
  const httpJson = bindings.includes("http-json")
    ? mount(
        bindingTable["http-json"].path,
        httpJsonEndpoint({ faces: versions.flatMap((version) => version.httpJson ?? []), service }),
      )
    : nobody;
  const jsonRpcBelow = mount(bindingTable["json-rpc"].path, jsonRpc);
  const connect = lazyConnect(versions, service);
  const route: HttpEndpoint = (request) => {
    const { path } = request;
    if (path.startsWith("/.well-known/")) return card(request);
    if (path.startsWith(bindingTable["http-json"].path)) return httpJson(request);
    if (path.startsWith(bindingTable["json-rpc"].path)) return jsonRpcBelow(request);
    // The root is an alias of JSON-RPC for calls; what a browser asks for there is somebody else's.
    if (path === "/" || path === "") return request.method === "POST" ? jsonRpc(request) : undefined;
    return connect(request);
  };
  const open = options.cors === undefined ? route : cors(route, options.cors);
  return mount(options.basePath ?? "", open);
}

const nobody: HttpEndpoint = () => undefined;

// Connect and gRPC-Web are loaded with the first call of theirs.
function lazyConnect(versions: readonly Version[], service: Service): HttpEndpoint {
  const faces = versions.flatMap((version) => version.grpc ?? []);
  const prefixes = faces.map((face) => `/${face.service.typeName}/`);
  let loading: Promise<HttpEndpoint> | undefined;
  return (request: HttpRequest) => {
    if (!prefixes.some((prefix) => request.path.startsWith(prefix))) return undefined;
    loading ??= import("../binding/connect/endpoint.js").then(({ createConnectEndpoint }) =>
      createConnectEndpoint({ faces, service }),
    );
    return loading.then((endpoint) => endpoint(request));
  };
}
