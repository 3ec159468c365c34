import { A2AError } from "../protocol/errors.js";
import type { Logger } from "../protocol/logger.js";
import { type CallKind, callOf, type PushStore, portOf, pushCalls, type TaskStore, taskCalls } from "./ports.js";
import { inStoreTime, NoAnswer, type StoreTimes, StoreUnavailable, storeDeadline } from "./store-failure.js";
import type { StoreHealth } from "./store-health.js";

// Stores as their users see them: what happens to calls that fail or take too long.

/** The store as the lease and the polls use it: `health` learns of calls that fail, and of writes that take too long. */
export function observeStore(store: TaskStore, health: StoreHealth, times: StoreTimes): TaskStore {
  const late = (): void => health.noteFailure(new NoAnswer(times.limits.storeWaitMs));
  return wrapTaskStore(store, (call, kind) => (args) => {
    const result = health.observe(call(args), kind);
    return kind === "read" ? result : result.finally(storeDeadline(times, late));
  });
}

/**
 * The store as the operations use it: a failed call throws a public error and logs its cause, and takes at most
 * `storeWaitMs` while the store is known to be away. Writes of turns bypass it, since they have their own retries.
 */
export function guardStore(
  store: TaskStore,
  health: StoreHealth,
  times: StoreTimes & { readonly logger: Logger },
): TaskStore {
  const fail = failWith(times.logger, "the task store failed");
  return wrapTaskStore(store, (call, kind) => (args) => {
    const result = health.observe(call(args), kind);
    if (kind === "turn") return result;
    return (health.away ? inStoreTime(times, result) : result).catch(fail);
  });
}

/** The guarded store as sends use it: no call takes longer than `storeWaitMs`, since a caller waits for it. */
export function timeStore(store: TaskStore, health: StoreHealth, times: StoreTimes): TaskStore {
  const fail = (error: unknown): never => {
    health.noteFailure(error);
    throw error;
  };
  return wrapTaskStore(store, (call, kind) =>
    kind === "turn" ? call : (args) => inStoreTime(times, call(args)).catch(fail),
  );
}

/** The push store as the operations use it: a failed call throws a public error and logs its cause. */
export function guardPushStore(store: PushStore, logger: Logger): PushStore {
  const fail = failWith(logger, "the store of push configurations failed");
  return wrapPushStore(store, (call) => (args) => call(args).catch(fail));
}

/** The push store with its failures known to `health`. It may be another database, so what succeeds says nothing. */
export function observePushStore(store: PushStore, health: StoreHealth): PushStore {
  return wrapPushStore(store, (call) => (args) => health.observe(call(args), "read"));
}

type Call = (args: readonly unknown[]) => Promise<unknown>;
type Wrap = (call: Call, kind: CallKind) => Call;

function wrapTaskStore(store: TaskStore, wrap: Wrap): TaskStore {
  const calls = portOf<Omit<TaskStore, "close">>(taskCalls, (method, kind) => {
    const call = wrap((args) => callOf(store, method, args), kind);
    return (...args) => call(args);
  });
  return { ...calls, close: () => store.close() };
}

function wrapPushStore(store: PushStore, wrap: Wrap): PushStore {
  const calls = portOf<Omit<PushStore, "close">>(pushCalls, (method, kind) => {
    const call = wrap((args) => callOf(store, method, args), kind);
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
