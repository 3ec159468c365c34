import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import type { CallAddress, Principal, Scope, ServerContext } from "../protocol/context.js";
import { A2AError, invalidParams } from "../protocol/errors.js";
import type { Logger } from "../protocol/logger.js";
import type { AgentCard } from "../protocol/model.js";
import { type Capability, type OperationName, type Operations, operationOf } from "../protocol/operations.js";
import { createPartCheck } from "./accept-parts.js";
import type { Agent } from "./agent.js";
import { cancelTask } from "./cancel.js";
import { within } from "./clock.js";
import { newId } from "./ids.js";
import { startInstance } from "./instance.js";
import { createLease } from "./lease.js";
import { type CoreLimits, defaultCoreLimits } from "./limits.js";
import { listTasks } from "./list-tasks.js";
import { type CalledOperations, withTaskNames } from "./named-tasks.js";
import type { Clock, PushService, Signals, TaskStore } from "./ports.js";
import { createPushConfig, deletePushConfig, getPushConfig, inlinePush, listPushConfigs } from "./push-config.js";
import { readTask } from "./read-task.js";
import { createTurnCounter, type Runtime } from "./runtime.js";
import { type SendCall, type SendPolicy, sendMessage } from "./send.js";
import { isOnce, sendMessageOnce, sendStreamingMessageOnce } from "./send-once.js";
import { sendStreamingMessage } from "./send-stream.js";
import { guardStore } from "./store-failure.js";
import { subscribeToTask } from "./subscribe.js";
import { hasInline, TurnRun } from "./turn-run.js";
import { createWatch } from "./watch.js";

export interface RequestHandlerOptions {
  readonly agent: Agent;
  readonly store: TaskStore;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: UUIDv7. */
  readonly newId?: (() => string) | undefined;
  readonly limits?: Partial<CoreLimits> | undefined;
  /** Default: true. */
  readonly streaming?: boolean | undefined;
  /** Without it there are no push notifications. */
  readonly push?: PushService | undefined;
  /** Media types that the card's author has named; default: whatever comes. */
  readonly inputModes?: readonly string[] | undefined;
  /** Tenants that exist. Default: none but the one without a name. */
  readonly tenants?: readonly string[] | undefined;
  /** Declares the extended card; gives `undefined` when there is none for this caller. */
  readonly extendedCard?: ((principal: Principal, caller?: CallAddress) => Promise<AgentCard | undefined>) | undefined;
}

/** The request handler of one agent: its eleven operations, and its end. */
export interface RequestHandler {
  readonly operations: Operations<ServerContext>;
  /** Whether a caller has given one of its tasks this name. */
  knowsTaskName(principal: Principal, name: string): Promise<boolean>;
  /** Waits for turns that run, at most `ms`, then aborts them and waits for their grace. */
  drain(ms: number): Promise<void>;
  /** Ends everything at once: open streams too. */
  close(): Promise<void>;
}

/** Makes the request handler: the one place where an agent, a store and the rules of the protocol meet. */
export function createRequestHandler(options: RequestHandlerOptions): RequestHandler {
  const runtime = createRuntime(options);
  const instance = startInstance(runtime);
  return {
    operations: createOperations(runtime, options),
    knowsTaskName: async ({ owner, tenant = "" }, name) =>
      (await runtime.store.taskNamed({ owner, tenant }, name)) !== undefined,
    async drain(ms) {
      await within(runtime.clock, ms, runtime.turns.idle());
      await endTurns(runtime);
    },
    async close() {
      await endTurns(runtime);
      runtime.watch.close();
      await instance.stop();
    },
  };
}

// Ends all turns, also those whose claim is under way: their tasks would be left to a process that goes.
async function endTurns({ turns, claiming, clock, limits }: Runtime): Promise<void> {
  turns.drain();
  const ended = async (): Promise<void> => {
    await Promise.all(claiming.values());
    await new Promise<void>((resolve) => setImmediate(resolve));
    await turns.idle();
  };
  await within(clock, limits.graceMs + 1000, ended());
}

function createRuntime(options: RequestHandlerOptions): Runtime {
  const limits = { ...defaultCoreLimits, ...definedOf(options.limits) };
  const { agent, store, signals, clock, logger } = options;
  const makeId = options.newId ?? (() => newId(clock.now()));
  const instance = makeId();
  const onError = (error: unknown): void => logger.warn({ error }, "the watched tasks could not be polled");
  const runtime: Runtime = {
    agent,
    store: guardStore(store, logger),
    signals,
    clock,
    logger,
    limits,
    newId: makeId,
    instance,
    lease: createLease({ store, clock, limits, instance }),
    lost: new Map(),
    watch: createWatch({ store, signals, clock, pollMs: limits.pollMs, onError }),
    live: new Map(),
    claiming: new Map(),
    sending: new Set(),
    givenUp: new Map(),
    turns: createTurnCounter(limits),
    startTurn: (start, subject) => {
      const { configuration } = start.send;
      const early = configuration?.returnImmediately === true ? "next" : "later";
      const atOnce = "opening" in subject && (subject.name !== undefined || hasInline(configuration));
      new TurnRun(runtime, start, subject).run(atOnce ? "at once" : early);
    },
  };
  return runtime;
}

function createOperations(runtime: Runtime, options: RequestHandlerOptions): Operations<ServerContext> {
  const { push, extendedCard, streaming = true } = options;
  const scopeOf = createScopes(options.tenants);
  const gate = createCapabilityGate({
    streaming,
    pushNotifications: push !== undefined,
    extendedAgentCard: extendedCard !== undefined,
  });
  const policy: SendPolicy = {
    checkParts: createPartCheck(options.inputModes),
    inlinePush: async (call) => {
      if (push === undefined) throw noPush();
      return inlinePush(push, call);
    },
  };
  const sendCall = (request: SendCall["request"], context: ServerContext, name?: string): SendCall => ({
    runtime,
    policy,
    request,
    context,
    scope: scopeOf(context, request),
    name,
  });
  const withPush = (name: OperationName): PushService => {
    gate(name);
    if (push === undefined) throw noPush();
    return push;
  };
  const operations: CalledOperations = {
    sendMessage: async (request, context, name) => {
      const call = sendCall(request, context, name);
      return isOnce(call) ? sendMessageOnce(call) : sendMessage(call);
    },
    sendStreamingMessage: (request, context, name) => {
      gate("sendStreamingMessage");
      const call = sendCall(request, context, name);
      return isOnce(call) ? sendStreamingMessageOnce(call) : sendStreamingMessage(call);
    },
    getTask: async (request, context) => {
      const { historyLength } = request;
      return (await readTask(runtime, scopeOf(context, request), request.id, { historyLength })).task;
    },
    listTasks: async (request, context) => listTasks(runtime, request, scopeOf(context, request)),
    cancelTask: async (request, context) => cancelTask(runtime, request, scopeOf(context, request)),
    subscribeToTask: (request, context) => {
      gate("subscribeToTask");
      return subscribeToTask(runtime, request, context, scopeOf(context, request));
    },
    createTaskPushNotificationConfig: async (request, context, taskName) =>
      createPushConfig(
        runtime,
        withPush("createTaskPushNotificationConfig"),
        request,
        { version: context.version, taskName },
        scopeOf(context, request),
      ),
    getTaskPushNotificationConfig: async (request, context) =>
      getPushConfig(runtime, withPush("getTaskPushNotificationConfig"), request, scopeOf(context, request)),
    listTaskPushNotificationConfigs: async (request, context) =>
      listPushConfigs(runtime, withPush("listTaskPushNotificationConfigs"), request, scopeOf(context, request)),
    deleteTaskPushNotificationConfig: async (request, context) => {
      await deletePushConfig(runtime, withPush("deleteTaskPushNotificationConfig"), request, scopeOf(context, request));
      return create(EmptySchema);
    },
    getExtendedAgentCard: async (request, context) => {
      gate("getExtendedAgentCard");
      scopeOf(context, request);
      const card = await extendedCard?.(context.principal, context.caller);
      if (card !== undefined) return card;
      throw new A2AError("extendedAgentCardNotConfigured", "there is no extended card for this caller");
    },
  };
  return withTaskNames(operations, { store: runtime.store, scopeOf });
}

// The tenant of a request is a wish: it is checked against what exists and who is asking, never trusted.
function createScopes(
  tenants: readonly string[] = [],
): (context: ServerContext, request: { readonly tenant: string }) => Scope {
  const known = new Set(tenants);
  return ({ principal }, { tenant: wished }) => {
    const { owner, tenant = "" } = principal;
    if (wished === "" || wished === tenant) return { tenant, owner };
    if (!known.has(wished) || tenant !== "")
      throw invalidParams({ field: "tenant", description: "is not a tenant of this agent" });
    return { tenant: wished, owner };
  };
}

function createCapabilityGate(on: Readonly<Record<Capability, boolean>>): (name: OperationName) => void {
  return (name) => {
    const { needs, method } = operationOf(name);
    if (needs === undefined || on[needs]) return;
    if (needs === "pushNotifications") throw noPush();
    throw new A2AError("unsupportedOperation", `${method} is not supported: the agent does not declare ${needs}`);
  };
}

function noPush(): A2AError {
  return new A2AError("pushNotificationNotSupported", "the agent sends no push notifications");
}

function definedOf<T extends object>(options: Partial<T> | undefined): Partial<T> {
  return Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>;
}
