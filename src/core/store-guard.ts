import { A2AError } from "../protocol/errors.js";
import type { Logger } from "../protocol/logger.js";
import {
  type AnyCall,
  callOf,
  type PortCalls,
  type PushStore,
  portOf,
  pushCalls,
  type TaskStore,
  taskCalls,
} from "./ports.js";
import { inStoreTime, NoAnswer, type StoreTimes, StoreUnavailable, storeDeadline } from "./store-failure.js";
import type { StoreHealth } from "./store-health.js";

/** The store as the lease and the polls use it: `health` learns of calls that fail, and of writes that take too long. */
export function observeStore(store: TaskStore, health: StoreHealth, times: StoreTimes): TaskStore {
  const calls = portOf<Omit<TaskStore, "close">>(taskCalls, (method, kind) => {
    const observed: AnyCall = (...args) => health.observe(callOf(store, method, args), kind);
    if (kind === "read") return observed;
    const late = (): void => health.failed(new NoAnswer(times.limits.storeWaitMs));
    return (...args) => observed(...args).finally(storeDeadline(times, late));
  });
  return { ...calls, close: () => store.close() };
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
  const fail = failing(times.logger, "the task store failed");
  const calls = portOf<Omit<TaskStore, "close">>(taskCalls, (method, kind) => {
    const observed: AnyCall = (...args) => health.observe(callOf(store, method, args), kind);
    if (kind === "turn") return observed;
    const timed: AnyCall = (...args) => (health.away ? inStoreTime(times, observed(...args)) : observed(...args));
    return (...args) => timed(...args).catch(fail);
  });
  return { ...calls, close: () => store.close() };
}

/** The guarded store as sends use it: no call takes longer than `storeWaitMs`, since a caller waits for it. */
export function timeStore(store: TaskStore, health: StoreHealth, times: StoreTimes): TaskStore {
  const fail = (error: unknown): never => {
    health.failed(error);
    throw error;
  };
  const calls = portOf<Omit<TaskStore, "close">>(taskCalls, (method, kind) => {
    const call: AnyCall = (...args) => callOf(store, method, args);
    return kind === "turn" ? call : (...args) => inStoreTime(times, call(...args)).catch(fail);
  });
  return { ...calls, close: () => store.close() };
}

/** The same for the push store. */
export function guardPushStore(store: PushStore, logger: Logger): PushStore {
  const fail = failing(logger, "the store of push configurations failed");
  const calls = guarded<Omit<PushStore, "close">>(pushCalls, store, fail);
  return { ...calls, close: () => store.close() };
}

/** The push store with its failures known to `health`. It may be another database, so what succeeds says nothing. */
export function observePushStore(store: PushStore, health: StoreHealth): PushStore {
  const calls = portOf<Omit<PushStore, "close">>(
    pushCalls,
    (method) =>
      (...args) =>
        health.observe(callOf(store, method, args), "read"),
  );
  return { ...calls, close: () => store.close() };
}

function guarded<Port extends object>(calls: PortCalls<Port>, port: Port, fail: (error: unknown) => never): Port {
  return portOf(
    calls,
    (method) =>
      (...args) =>
        callOf(port, method, args).catch(fail),
  );
}

function failing(logger: Logger, message: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof A2AError) throw error;
    logger.error({ err: error }, message);
    throw new StoreUnavailable(error);
  };
}
