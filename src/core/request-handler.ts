import type { JsonValue } from "@bufbuild/protobuf";
import { within } from "../protocol/async/pause.js";
import type { Scope, ServerContext } from "../protocol/context.js";
import { newId } from "../protocol/id/new-id.js";
import type { Logger } from "../protocol/logger.js";
import type { Operations } from "../protocol/operations.js";
import type { TaskNames } from "../protocol/task-names.js";
import type { Agent } from "./agent.js";
import { createAlarm } from "./alarm.js";
import { openConversations } from "./conversation/conversations.js";
import type { ConversationOptions } from "./conversation/log.js";
import { createLease, type Lease } from "./lease.js";
import { type CoreLimits, defaultCoreLimits } from "./limits.js";
import { createOperations, type OperationOptions } from "./operations.js";
import { checkHeld } from "./ownership/held.js";
import { startInstance } from "./ownership/instance.js";
import { wakeDue, wakeTask } from "./ownership/wake.js";
import type { Clock, QueuedSend, Signals, Store, TaskStore } from "./ports.js";
import { createTaskQuota } from "./quota.js";
import type { Runtime } from "./runtime.js";
import { guardStore, observeStore } from "./store-guard.js";
import { StoreHealth } from "./store-health.js";
import { TurnRun } from "./turn/run.js";
import { createTurnCounter, shuttingDown } from "./turn-counter.js";
import { createTurnYields } from "./turn-yields.js";
import { createWatch } from "./watch.js";

export interface RequestHandlerOptions extends OperationOptions {
  readonly agent: Agent;
  /** The agent's id in the store: it sees and runs only its own tasks. Default: `""`. */
  readonly agentId?: string | undefined;
  /** Whether any process that finds a dead process's turn re-runs it. Default: false, the task fails. */
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
  /** The health of the store, when others watch it too. Default: the handler's own. */
  readonly health?: StoreHealth | undefined;
  /** How conversations are remembered; `false`: not at all. Default: the defaults of `ConversationOptions`. */
  readonly conversations?: ConversationOptions | false | undefined;
  /** Returns the part of a principal that is stored with its message, beside owner and tenant. Default: nothing is. */
  readonly keptClaims?: Runtime["keptClaims"];
}

/** The request handler of one agent: its eleven operations and its shutdown. */
export interface RequestHandler {
  readonly operations: Operations<ServerContext>;
  /** The names that callers give their tasks, in versions that have such names. */
  readonly taskNames: TaskNames;
  /** Waits at most `ms` for running turns, then aborts them and waits for their grace period. */
  drain(ms: number): Promise<void>;
  /**
   * Calls `listener` with false when the store has been away for `storeAwayMs`, and with true when it is back. Without a
   * store it is missing.
   */
  watchStore?(listener: (ready: boolean) => void): void;
  /** Ends everything at once, including open streams. */
  close(): Promise<void>;
}

/** A request handler as seen by the program that runs it. */
export interface HostedHandler extends RequestHandler {
  /** Starts the next turn of a task. Returns false for one that has ended; rejects with `taskNotFound`. */
  wake(of: Omit<Scope, "agent">, taskId: string, data?: JsonValue): Promise<boolean>;
  /** Deletes the conversation and the state of a context. Returns false when there is none. */
  deleteConversation(of: Omit<Scope, "agent">, contextId: string): Promise<boolean>;
}

/** Creates the request handler: the one place where an agent, a store and the rules of the protocol meet. */
export function createRequestHandler(options: RequestHandlerOptions): HostedHandler {
  const runtime = createRuntime(options);
  const instance = startInstance(runtime);
  return {
    operations: createOperations(runtime, options),
    wake: (of, taskId, data) => wakeTask(runtime, { scope: { agent: runtime.agentId, ...of }, id: taskId }, data),
    async deleteConversation(of, contextId) {
      await runtime.conversations?.replies.flushed();
      return runtime.store.deleteConversation({ agent: runtime.agentId, ...of }, contextId);
    },
    taskNames: {
      find: ({ owner, tenant = "" }, name) => runtime.store.taskNamed({ agent: runtime.agentId, owner, tenant }, name),
    },
    watchStore: (listener) => runtime.health.watch(listener),
    async drain(ms) {
      // A subscriber can resume at another process on the store and need not wait for this one to end.
      if (options.store.shared === true) for (const stream of runtime.subscriptions) stream.dismiss(shuttingDown());
      // A turn that no caller waits for would only be aborted.
      runtime.alarm.close();
      instance.rest();
      runtime.turns.letGo();
      await within(runtime.clock, ms, runtime.turns.idle());
      await endTurns(runtime);
    },
    async close() {
      await endTurns(runtime);
      await runtime.conversations?.replies.close();
      runtime.watch.close();
      runtime.alarm.close();
      // A probe renews the lease, which must not happen after the instance has retired.
      await runtime.health.close();
      await instance.stop();
    },
  };
}

// Ends all turns, also those whose claim is under way: their tasks would otherwise be held by a stopping process.
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
  const { agent, agentId = "", signals, clock, restartable = false } = options;
  const makeId = options.newId ?? (() => newId(clock.now()));
  const { instance = makeId() } = options;
  const { health = new StoreHealth({ clock, limits, logger: options.logger }) } = options;
  const logger = health.quiet(options.logger);
  const store = observeStore(options.store, health, { clock, limits });
  const guarded = guardStore(options.store, health, { clock, limits, logger });
  const lease: Lease = createLease({ store, clock, limits, instance, checkHeld: () => checkHeld(runtime) });
  const deps = { store: guarded, lease, clock, logger, limits, health };
  const onError = (error: unknown): void => logger.warn({ err: error }, "the watched tasks could not be polled");
  const runtime: Runtime = {
    agent,
    agentId,
    restartable,
    alarm: createAlarm(clock, () => ring(runtime)),
    store: guarded,
    health,
    conversations: openConversations(deps, options.conversations),
    signals,
    clock,
    logger,
    limits,
    newId: makeId,
    instance,
    keptClaims: options.keptClaims,
    lease,
    lost: new Map(),
    watch: createWatch({ store, signals, clock, pollMs: limits.pollMs, onError }),
    live: new Map(),
    claiming: new Map(),
    sending: new Set(),
    givenUp: new Map(),
    turns: createTurnCounter(limits, clock),
    yields: createTurnYields(clock),
    quota: createTaskQuota(guarded, limits),
    subscriptions: new Set(),
    startTurn: (start, subject) => {
      const { configuration } = start.send;
      const early = configuration?.returnImmediately === true ? "next" : "later";
      const atOnce = "opening" in subject && (subject.name !== undefined || hasInline(configuration));
      new TurnRun(runtime, start, subject).run(atOnce ? "at once" : early);
    },
  };
  health.probeWith({ there: () => runtime.lease.renew(), room: () => probeRoom(runtime) });
  return runtime;
}

// Writes the record of a send that does not exist, larger than the free space of a page in use.
async function probeRoom({ agentId, instance, newId, store }: Runtime): Promise<void> {
  const scope = { agent: agentId, tenant: "", owner: "" };
  const entry = newId();
  const digest = Array.from({ length: 4_500 }, newId).join("");
  await store.beginSend({ scope, messageId: entry, entry, digest, taskId: entry, seq: 0, instance });
  await store.forgetSend({ scope, messageId: entry, entry, attempt: 1 });
}

async function ring(runtime: Runtime): Promise<void> {
  const woken = runtime.turns.expect();
  try {
    await wakeDue(runtime);
  } catch (error) {
    runtime.logger.warn({ err: error }, "parked tasks could not be woken: the next heartbeat tries again");
  } finally {
    woken();
  }
}

/** True for a send whose caller needs a task from the start. */
function hasInline(configuration: QueuedSend["configuration"]): boolean {
  return configuration?.taskPushNotificationConfig !== undefined;
}

function definedOf<T extends object>(options: Partial<T> | undefined): Partial<T> {
  return Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>;
}
