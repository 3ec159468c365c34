import type { Middleware } from "koa";
import { fetchHandler } from "../binding/fetch-handler.js";
import { type NodeListener, nodeListener } from "../binding/node-listener.js";
import { namedInputModes } from "../card/build.js";
import { allExtensions } from "../card/own-extensions.js";
import { publishCard } from "../card/publish.js";
import type { Listening } from "../card/urls.js";
import { createRequestHandler } from "../core/request-handler.js";
import { createPush } from "../push/push.js";
import { processSignals } from "../signals/in-process.js";
import { memoryPushStore } from "../store/memory/push-store.js";
import { memoryTaskStore } from "../store/memory/task-store.js";
import {
  type Backend,
  bindingsOf,
  type ComposedAgent,
  composeAround,
  type Doorway,
  type InProcessAgent,
} from "./doorway.js";
import type { AgentOptions } from "./options.js";

export type { InProcessAgent } from "./doorway.js";

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

/**
 * Makes an agent to be mounted in a server that exists. gRPC needs `serve`; the card lists JSON-RPC and HTTP+JSON. Throws
 * a `CardError` for a card that contradicts itself.
 */
export async function createAgent(options: AgentOptions): Promise<MountedAgent> {
  const bindings = bindingsOf(options).filter((binding) => binding !== "grpc");
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

/** Puts an agent together: store, handler and card, and the doorway before them. */
export function composeAgent(options: AgentOptions, listening: () => Listening): Promise<ComposedAgent> {
  return composeAround(options, (doorway) => backendOf(options, listening, doorway));
}

function backendOf(options: AgentOptions, listening: () => Listening, doorway: Doorway): Backend {
  const { signals = processSignals, card, authenticate, publicUrl, publicGrpc, trustProxy, basePath } = options;
  const { versions, limits, clock, logger } = doorway;
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
  return {
    handler,
    card: published,
    extensions: allExtensions(card),
    async dispose() {
      await push?.close();
      if (options.store === undefined) await store.close();
    },
  };
}
