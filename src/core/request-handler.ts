import { create, type JsonValue } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import type { CallAddress, Principal, Scope, ServerContext } from "../protocol/context.js";
import { A2AError, invalidParams } from "../protocol/errors.js";
import type { Logger } from "../protocol/logger.js";
import type { AgentCard } from "../protocol/model.js";
import { type Capability, type OperationName, type Operations, operationOf } from "../protocol/operations.js";
import { createPartCheck } from "./accept-parts.js";
import type { Agent } from "./agent.js";
import { createAlarm } from "./alarm.js";
import { cancelTask } from "./cancel.js";
import { within } from "./clock.js";
import { newId } from "./ids.js";
import { startInstance } from "./instance.js";
import { createLease } from "./lease.js";
import { type CoreLimits, defaultCoreLimits } from "./limits.js";
import { listTasks } from "./list-tasks.js";
import { type CalledOperations, withTaskNames } from "./named-tasks.js";
import type { Clock, PushService, Signals, Store, TaskStore } from "./ports.js";
import { createPushConfig, deletePushConfig, getPushConfig, inlinePush, listPushConfigs } from "./push-config.js";
import { readTask } from "./read-task.js";
import { createTurnCounter, type Runtime, shuttingDown } from "./runtime.js";
import { type SendCall, type SendPolicy, sendMessage } from "./send.js";
import { isOnce, sendMessageOnce, sendStreamingMessageOnce } from "./send-once.js";
import { sendStreamingMessage } from "./send-stream.js";
import { guardPushStore, guardStore } from "./store-failure.js";
import { subscribeToTask } from "./subscribe.js";
import { hasInline, TurnRun } from "./turn-run.js";
import { wakeDue, wakeTask } from "./wake.js";
import { createWatch } from "./watch.js";

export interface RequestHandlerOptions {
  readonly agent: Agent;
  /** A turn whose process has gone is run again, by whichever process finds it. Default: false, its task fails. */
  readonly restartable?: boolean | undefined;
  readonly store: TaskStore & Pick<Store, "shared">;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: UUIDv7. */
  readonly newId?: (() => string) | undefined;
  /** Name of this process in the store. Default: a new one. */
  readonly instance?: string | undefined;
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

/** A request handler in the hands of the program that runs it. */
export interface HostedHandler extends RequestHandler {
  /** Starts the next turn of a task. False for one that has ended; rejects with `taskNotFound`. */
  wake(scope: Scope, taskId: string, data?: JsonValue): Promise<boolean>;
}

/** Makes the request handler: the one place where an agent, a store and the rules of the protocol meet. */
export function createRequestHandler(options: RequestHandlerOptions): HostedHandler {
  const runtime = createRuntime(options);
  const instance = startInstance(runtime);
  return {
    operations: createOperations(runtime, options),
    wake: (scope, taskId, data) => wakeTask(runtime, scope, taskId, data),
    knowsTaskName: async ({ owner, tenant = "" }, name) =>
      (await runtime.store.taskNamed({ owner, tenant }, name)) !== undefined,
    async drain(ms) {
      // Who follows a task goes on at another process that has it, and need not wait for the end of this one.
      if (options.store.shared === true) for (const stream of runtime.subscriptions) stream.dismiss(shuttingDown());
      await within(runtime.clock, ms, runtime.turns.idle());
      await endTurns(runtime);
    },
    async close() {
      await endTurns(runtime);
      runtime.watch.close();
      runtime.alarm.close();
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
  const { agent, store, signals, clock, logger, restartable = false } = options;
  const makeId = options.newId ?? (() => newId(clock.now()));
  const { instance = makeId() } = options;
  const onError = (error: unknown): void => logger.warn({ error }, "the watched tasks could not be polled");
  const runtime: Runtime = {
    agent,
    restartable,
    alarm: createAlarm(clock, () => ring(runtime)),
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
    subscriptions: new Set(),
    startTurn: (start, subject) => {
      const { configuration } = start.send;
      const early = configuration?.returnImmediately === true ? "next" : "later";
      const atOnce = "opening" in subject && (subject.name !== undefined || hasInline(configuration));
      new TurnRun(runtime, start, subject).run(atOnce ? "at once" : early);
    },
  };
  return runtime;
}

function guardPush(push: PushService, logger: Logger): PushService {
  return {
    store: guardPushStore(push.store, logger),
    check: (config) => push.check(config),
    added: (registration) => push.added(registration),
    removed: (taskId, id) => push.removed(taskId, id),
  };
}

function ring(runtime: Runtime): void {
  wakeDue(runtime).catch((error: unknown) => {
    runtime.logger.warn({ error }, "parked tasks could not be woken: the next heartbeat tries again");
  });
}

function createOperations(runtime: Runtime, options: RequestHandlerOptions): Operations<ServerContext> {
  const { extendedCard, streaming = true } = options;
  const push = options.push === undefined ? undefined : guardPush(options.push, options.logger);
  const scopeOf = createScopes(options.tenants);
  const gate = createCapabilityGate({
    streaming,
    pushNotifications: push !== undefined,
    extendedAgentCard: extendedCard !== undefined,
  });
  const policy: SendPolicy = {
    checkParts: createPartCheck(options.inputModes),
    inlinePush: async (call, entry) => {
      if (push === undefined) throw noPush();
      return inlinePush(push, call, entry);
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
