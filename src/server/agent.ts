import type { JsonValue } from "@bufbuild/protobuf";
import { keptClaims } from "../auth/kept-claims.js";
import { namedInputModes, skillsOf } from "../card/build.js";
import { allExtensions } from "../card/own-extensions.js";
import { type PublishedCard, publishCard } from "../card/publish.js";
import type { Listening } from "../card/urls.js";
import type { Store } from "../core/ports.js";
import { createRequestHandler, type HostedHandler } from "../core/request-handler.js";
import { observePushStore, observeStore } from "../core/store-guard.js";
import { StoreHealth } from "../core/store-health.js";
import { assertOptions } from "../protocol/check/rules.js";
import { newId } from "../protocol/id/new-id.js";
import { checkAgentId } from "../protocol/indexed-text.js";
import { createPush } from "../push/push.js";
import { processSignals } from "../signals/in-process.js";
import { memoryPushStore } from "../store/memory/push-store.js";
import { memoryTaskStore } from "../store/memory/task-store.js";
import { anonymous } from "./anonymous.js";
import { isMountable } from "./bindings.js";
import { isAuthenticated } from "./guarded.js";
import {
  type Backend,
  bindingsOf,
  type ComposedAgent,
  composeAround,
  type HostSettings,
  type InProcessAgent,
} from "./host.js";
import { loadGuarding, ratingOf } from "./load-guarding.js";
import { createHandlers, type Handlers } from "./mounting.js";
import { mountedRule } from "./option-rules.js";
import type { AgentOptions } from "./options.js";

export type { InProcessAgent } from "./host.js";

/** The owner of a task. */
export interface TaskOwner {
  /** `owner` of the principal. Default: the single principal of an agent without `authenticate`. */
  readonly owner?: string | undefined;
  /** Default: the empty tenant. */
  readonly tenant?: string | undefined;
}

/** Access to the tasks for the program that hosts the agent, without being a caller. */
export interface HostTasks {
  /**
   * Starts the next turn of a task that is parked or waits for its caller, with `cause: "wake"` and this data. While a
   * turn runs, one wake waits for its end and further ones are dropped; when the task ends all are. Returns false for a
   * task that has ended. Rejects with `taskNotFound`.
   */
  wake(taskId: string, data?: JsonValue, of?: TaskOwner): Promise<boolean>;
}

/** Access to the conversations for the program that hosts the agent, without being a caller. */
export interface HostConversations {
  /**
   * Deletes what was said in a context, with its state. Returns false when there is none. The tasks of the context stay,
   * and a turn that runs adds to the conversation anew.
   */
  delete(contextId: string, of?: TaskOwner): Promise<boolean>;
}

/** An agent that runs in this process. */
export interface HostedAgent {
  /** The conversations, for the program that hosts the agent. */
  readonly conversations: HostConversations;
  /** The tasks, for the program that hosts the agent. */
  readonly tasks: HostTasks;
}

/** An agent without its own port, to mount in an existing server. Close it when that server closes. */
export interface MountedAgent extends InProcessAgent, HostedAgent, Handlers {
  /**
   * Refuses new work, waits for turns for up to `drainMs` (10 s), then aborts them. Calling it again waits for the same
   * end.
   */
  close(drainMs?: number): Promise<void>;
  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Creates an agent to mount in an existing server. gRPC needs `serve`; the card lists JSON-RPC and HTTP+JSON. Throws a
 * `CardError` for a card that contradicts itself.
 */
export async function createAgent(options: AgentOptions): Promise<MountedAgent> {
  assertOptions("createAgent()", options, mountedRule);
  const { publicUrl, basePath } = options;
  const bindings = bindingsOf(options).filter(isMountable);
  const origin = publicUrl === undefined ? "http://localhost" : new URL(publicUrl).origin;
  // The handlers know where they are mounted, and may be mounted at several paths.
  const here = { origin, mountPath: basePath };
  const agent = await composeAgent({ ...options, bindings, basePath: undefined }, () => here);
  const end = async (drainMs: number): Promise<void> => {
    agent.admission.close();
    await agent.handler.drain(drainMs);
    await agent.dispose();
  };
  let ending: Promise<void> | undefined;
  const close = (drainMs = 10_000): Promise<void> => {
    ending ??= end(drainMs);
    return ending;
  };
  return {
    ...createHandlers(agent, options),
    get card() {
      return agent.card.card();
    },
    inProcess: agent.inProcess,
    ...hosted(agent),
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

/** Composes store, handler and card into an agent for a host. */
export function composeAgent(options: AgentOptions, listening: () => Listening): Promise<ComposedAgent<HostedHandler>> {
  return composeAround(options, (settings) => backendOf(options, listening, settings));
}

/** What the host of a composed agent may do with its tasks and conversations. */
export function hosted({ handler }: Pick<ComposedAgent<HostedHandler>, "handler">): HostedAgent {
  return {
    tasks: {
      wake: (taskId, data, { owner = anonymous.owner, tenant = "" } = {}) =>
        handler.wake({ owner, tenant }, taskId, data),
    },
    conversations: {
      delete: (contextId, { owner = anonymous.owner, tenant = "" } = {}) =>
        handler.deleteConversation({ owner, tenant }, contextId),
    },
  };
}

async function backendOf(
  options: AgentOptions,
  listening: () => Listening,
  settings: HostSettings,
): Promise<Backend<HostedHandler>> {
  const { card, agentId } = options;
  const { versions, limits, clock, logger, load, telemetry } = settings;
  if (agentId !== undefined) checkAgentId(agentId);
  const published = await publishedCard(options, listening, settings);
  const store: Store = options.store ?? memoryTaskStore({ clock });
  const signals = options.signals ?? store.signals ?? processSignals;
  const skills = skillsOf(card).map(({ id }) => id);
  const rating = await ratingOf(options, { clock, logger, shared: store.rates, skills, hasTasks: true });
  await store.open?.(logger);
  const { capabilities } = published.card();
  // Shared, so that the lease of the instance that runs turns also covers its deliveries.
  const instance = newId(clock.now());
  const health = new StoreHealth({ clock, limits, logger });
  const push =
    options.push === undefined
      ? undefined
      : createPush({
          ...options.push,
          store: observePushStore(options.push.store ?? store.push ?? memoryPushStore(), health),
          tasks: observeStore(store, health, settings),
          signals,
          clock,
          logger: health.quiet(logger),
          versions,
          limits,
          agentId,
          instance,
          adoptMs: limits.heartbeatMs,
          telemetry: telemetry?.webhooks(published.card()),
        });
  const unlisten = telemetry && store.onFlush?.(telemetry.flushed);
  const handler = createRequestHandler({
    agent: options.agent,
    agentId,
    instance,
    restartable: options.restartable,
    conversations: options.conversations,
    ...{ store, signals, clock, logger, limits, load, health },
    charge: rating?.charge,
    streaming: capabilities?.streaming,
    push: capabilities?.pushNotifications === true ? push?.service : undefined,
    inputModes: namedInputModes(card),
    tenants: options.tenants,
    extendedCard: published.extended,
    keptClaims: options.auth && keptClaims(options.auth),
    telemetry: telemetry?.turns(published.card()),
  });
  return {
    handler,
    card: published,
    extensions: allExtensions(card),
    rates: rating?.calls,
    webhooksDue: push && (() => push.due),
    async dispose() {
      await push?.close();
      unlisten?.();
      if (options.store === undefined) await store.close();
    },
  };
}

/** Checks the card and everything it depends on. */
async function publishedCard(
  options: AgentOptions,
  listening: () => Listening,
  { versions, clock }: HostSettings,
): Promise<PublishedCard> {
  const guarding = await loadGuarding(options);
  const { card, publicUrl, publicGrpc, trustProxy, basePath } = options;
  const published = publishCard({
    card,
    capabilities: {
      streaming: true,
      pushNotifications: options.push !== undefined,
      authentication: isAuthenticated(options),
      security: guarding?.cardSecurity(options),
    },
    versions,
    urls: { publicUrl, publicGrpc, trustProxy, basePath },
    listening,
    now: clock.now,
  });
  // The card has no problems, so its skills have ids.
  guarding?.assertAuth(
    options,
    skillsOf(card).map(({ id }) => id),
  );
  return published;
}
