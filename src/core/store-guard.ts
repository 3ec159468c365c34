import { A2AError } from "../protocol/errors.js";
import type { Logger } from "../protocol/logger.js";
import {
  callMethod,
  createPort,
  type MethodKind,
  type PushStore,
  pushCalls,
  type TaskStore,
  taskCalls,
} from "./ports.js";
import {
  NoAnswer,
  type StoreTimes,
  StoreUnavailable,
  storeDeadline,
  Unanswered,
  waitForStore,
} from "./store-failure.js";
import type { StoreHealth } from "./store-health.js";

// Guards handle calls of a store that fail or take too long. Every call passes a guard, so that each call that a caller
// waits for has a time limit.
//
// | user               | waits for an answer                                 | a late answer                     |
// |--------------------|-----------------------------------------------------|-----------------------------------|
// | the lease, polls   | for as long as it takes                             | of a write: the store is probed   |
// | sweeps             | the same, `storeWaitMs` while the store is away     | none                              |
// | operations, agents | `storeWaitMs`                                       | the store is probed               |
// | sends              | `storeWaitMs`                                       | the same, and readiness learns it |
// | writes of turns    | the first `storeWaitMs`, later ones `storeRetryMs`  | see `core/task/write.ts`          |

/** Who calls a store. */
export type StoreUser = "sweep" | "call" | "send";

/** The store as the lease and the polls use it: `health` learns of calls that fail, and of writes that take too long. */
export function observeStore(store: TaskStore, health: StoreHealth, times: StoreTimes): TaskStore {
  const late = (): void => health.noteFailure(new NoAnswer(times.limits.storeWaitMs));
  return wrapTaskStore(store, (call, kind) => (args) => {
    const result = health.observe(call(args), kind);
    return kind === "read" ? result : result.finally(storeDeadline(times, late, true));
  });
}

/** Dependencies of a handler's store guards. */
interface GuardOptions extends StoreTimes {
  readonly health: StoreHealth;
  readonly logger: Logger;
}

/**
 * The store as a user of a handler sees it: a call that fails, or has no answer in time, throws a public error; the
 * cause is logged. Writes of turns bypass it, since they have their own retries.
 */
export function guardStore(store: TaskStore, user: StoreUser, options: GuardOptions): TaskStore {
  const { health } = options;
  const fail = failWith(options.logger, "the task store failed");
  const late = noteLate(health, user);
  return wrapTaskStore(store, (call, kind) => (args) => {
    const result = health.observe(call(args), kind);
    if (kind === "turn") return result;
    if (user === "sweep" && !health.away) return result.catch(fail);
    return waitForStore(options, result).catch(late).catch(fail);
  });
}

/** The push store as the operations use it, guarded in the same way. */
export function guardPushStore(store: PushStore, options: GuardOptions): PushStore {
  const fail = failWith(options.logger, "the store of push configurations failed");
  return wrapPushStore(store, (call) => (args) => waitForStore(options, call(args)).catch(fail));
}

// One slow read, such as a long list, must not make a process unready. A refused send may.
function noteLate(health: StoreHealth, user: StoreUser): (error: unknown) => never {
  return (error) => {
    if (error instanceof Unanswered && user === "send") health.noteFailure(error);
    else if (error instanceof Unanswered) health.noteLateCall(error);
    throw error;
  };
}

/** The push store with its failures known to `health`. It may be another database, so what succeeds says nothing. */
export function observePushStore(store: PushStore, health: StoreHealth): PushStore {
  return wrapPushStore(store, (call) => (args) => health.observe(call(args), "read"));
}

type StoreCall = (args: readonly unknown[]) => Promise<unknown>;
type Wrap = (call: StoreCall, kind: MethodKind) => StoreCall;

function wrapTaskStore(store: TaskStore, wrap: Wrap): TaskStore {
  const calls = createPort<Omit<TaskStore, "close">>(taskCalls, (method, kind) => {
    const call = wrap((args) => callMethod(store, method, args), kind);
    return (...args) => call(args);
  });
  return { ...calls, close: () => store.close() };
}

function wrapPushStore(store: PushStore, wrap: Wrap): PushStore {
  const calls = createPort<Omit<PushStore, "close">>(pushCalls, (method, kind) => {
    const call = wrap((args) => callMethod(store, method, args), kind);
    return (...args) => call(args);
  });
  return { ...calls, close: () => store.close() };
}

function failWith(logger: Logger, message: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof A2AError) throw error;
    logger.error({ err: error }, message);
    throw new StoreUnavailable(error);
  };
}
