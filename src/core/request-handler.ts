import type { JsonValue } from "@bufbuild/protobuf";
import { within } from "../protocol/async/pause.js";
import type { Scope, ServerContext } from "../protocol/context.js";
import type { Operations } from "../protocol/operations.js";
import type { TaskNames } from "../protocol/task-names.js";
import type { AgentStats, ParkedCount } from "../protocol/telemetry/follow.js";
import { agentStats, countParked } from "./agent-stats.js";
import { HandlerState, type RuntimeOptions } from "./handler-state.js";
import type { CoreLimits } from "./limits.js";
import { createOperations, type OperationOptions } from "./operations.js";
import { wakeTask } from "./ownership/wake.js";
import type { Store, TaskStore } from "./ports.js";
import { type CoreProcess, type CoreProcessOptions, createCoreProcess } from "./process.js";
import type { Runtime } from "./runtime.js";
import { shuttingDown } from "./turn-slots.js";

// The core runs agents: it keeps their tasks as logs in a store, and serves the eleven operations to every binding and
// version. This file is the handler of one agent, from its creation to its shutdown; `operations.ts` are its
// operations, which check capability and scope. `process.ts` is what the handlers of a process share.

/** One release of an agent: its code and its settings. */
interface ReleaseOptions extends RuntimeOptions, OperationOptions {}

/** Options of a handler: its first agent, and the process and the store that it runs in. */
export interface RequestHandlerOptions extends ReleaseOptions, CoreProcessOptions {
  /** The agent's id in the store: it sees and runs only its own tasks. Default: `""`. */
  readonly agentId?: string | undefined;
  readonly store: TaskStore & Pick<Store, "shared" | "heapMaxBytes">;
  readonly limits?: Partial<CoreLimits> | undefined;
  /** The process, when the handler is one of several. It stays open. Default: the handler's own. */
  readonly process?: CoreProcess | undefined;
}

/** The request handler of one agent: its eleven operations and its shutdown. */
export interface RequestHandler {
  readonly operations: Operations<ServerContext>;
  /** The names that callers give their tasks, in versions that have such names. */
  readonly taskNames: TaskNames;
  /** Starts no more work by itself, and lets go of turns that wait for their callers: the first step of `drain`. */
  stopNewWork(): void;
  /** Whether no turn runs (in a gateway: no call), and a promise of that. */
  readonly isIdle: boolean;
  idle(): Promise<void>;
  /** Waits at most `ms` for running turns, then aborts them and waits for their grace period. */
  drain(ms: number): Promise<void>;
  /** Counts what it has at the moment. A gateway has nothing to count, nor has an agent that was replaced. */
  stats?(): AgentStats | undefined;
  /** Counts the agent's parked tasks in its store, at most every ten seconds. `undefined` while the store is away. */
  parked?(): Promise<ParkedCount | undefined>;
  /** Ends everything at once, including open streams. */
  close(): Promise<void>;
}

/** A request handler as seen by the program that runs it. */
export interface ReplaceableHandler extends RequestHandler {
  /** Starts the next turn of a task. Returns false for one that has ended; rejects with `taskNotFound`. */
  wake(of: Omit<Scope, "agent">, taskId: string, data?: JsonValue): Promise<boolean>;
  /** Deletes the conversation and the state of a context. Returns false when there is none. */
  deleteConversation(of: Omit<Scope, "agent">, contextId: string): Promise<boolean>;
  /**
   * The handler of the agent's next release, which takes this one's place: turns that run end with the code they began
   * with, and the new handler serves everything else. Close the new one only.
   */
  replacedBy(options: ReleaseOptions): ReplaceableHandler;
  /** Takes its place back, when the agent that was to replace it cannot be served. */
  restore(): void;
}

/** Creates the request handler: the one place where an agent, a store and the rules of the protocol meet. */
export function createRequestHandler(options: RequestHandlerOptions): ReplaceableHandler {
  const { process = createCoreProcess(options), agentId = "" } = options;
  const state = new HandlerState(process, { agentId, limits: options.limits });
  return createHandler(state, options, {
    isShared: options.store.shared === true,
    close: async () => {
      await state.close();
      if (options.process === undefined) await process.close();
    },
  });
}

/** Parts that the releases of a handler share besides their state. */
interface ReleaseGroup {
  /** Whether other processes may be on the store. */
  readonly isShared: boolean;
  close(): Promise<void>;
}

function createHandler(state: HandlerState, options: ReleaseOptions, group: ReleaseGroup): ReplaceableHandler {
  const runtime = state.open(options);
  const { agentId } = runtime;
  const parked = countParked(runtime);
  const stopNewWork = (): void => {
    // A subscriber can resume at another process on the store and need not wait for this one to end.
    if (group.isShared) for (const stream of runtime.subscriptions) stream.dismiss(shuttingDown());
    // A turn that no caller waits for would only be aborted.
    runtime.alarm.close();
    state.stopNewWork();
    runtime.turns.releaseWaiting();
  };
  return {
    operations: createOperations(runtime, options),
    wake: (of, taskId, data) => wakeTask(runtime, { scope: { agent: agentId, ...of }, id: taskId }, data),
    async deleteConversation(of, contextId) {
      await runtime.conversations?.replies.flush();
      return runtime.store.deleteConversation({ agent: agentId, ...of }, contextId);
    },
    taskNames: {
      find: ({ owner, tenant = "" }, name) => runtime.store.taskNamed({ agent: agentId, owner, tenant }, name),
    },
    stats: () => (state.isLatest(runtime) ? agentStats(runtime) : undefined),
    parked: async () => (state.isLatest(runtime) ? parked() : undefined),
    stopNewWork,
    get isIdle() {
      return runtime.turns.isIdle;
    },
    idle: () => runtime.turns.idle(),
    async drain(ms) {
      stopNewWork();
      await within(runtime.clock, ms, runtime.turns.idle());
      await endTurns(runtime);
    },
    async close() {
      await endTurns(runtime);
      await group.close();
    },
    replacedBy: (next) => createHandler(state, next, group),
    restore: () => state.use(runtime),
  };
}

// Ends all turns, also those whose claim is under way: their tasks would otherwise be held by a stopping process.
async function endTurns({ turns, claiming, clock, limits }: Runtime): Promise<void> {
  turns.drain();
  const untilEnded = async (): Promise<void> => {
    await Promise.all(claiming.values());
    await new Promise<void>((resolve) => setImmediate(resolve));
    await turns.idle();
  };
  await within(clock, limits.graceMs + 1000, untilEnded());
}
