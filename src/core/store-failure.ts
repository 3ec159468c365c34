import { type Growth, grownPause, type RetryPlan } from "../protocol/async/retry.js";
import { A2AError } from "../protocol/errors.js";
import type { Logger } from "../protocol/logger.js";
import { TurnAborted } from "./agent.js";
import type { CoreLimits } from "./limits.js";
import {
  type Clock,
  callOf,
  type PortCalls,
  type PushStore,
  portOf,
  pushCalls,
  type TaskStore,
  taskCalls,
} from "./ports.js";

/** The error for a caller whose task store did not answer. Whether a write took effect is unknown. */
export class StoreUnavailable extends A2AError {
  constructor(cause: unknown) {
    super("unavailable", "the task store does not answer, try again", { cause, retryAfterMs: 1000 });
  }
}

/** True for an error with which the store answered, such as being full; false when it could not be reached. */
export function isAnswer(error: unknown): error is A2AError {
  return error instanceof A2AError && !(error instanceof StoreUnavailable);
}

const storePauses: Growth = { firstMs: 20, maxMs: 2000 };

/** The retry policy for failing store calls: until `storeRetryMs` have passed. */
export function storeRetries({ clock, limits }: { readonly clock: Clock; readonly limits: CoreLimits }): RetryPlan {
  const until = clock.now() + limits.storeRetryMs;
  return {
    clock,
    pauseAfter(error, failures) {
      const pauseMs = grownPause(failures, storePauses);
      // An answer, such as a full store, is not retried.
      return isAnswer(error) || clock.now() + pauseMs > until ? undefined : pauseMs;
    },
  };
}

/** What a caller is told of a failed write. */
export function publicFailure(error: unknown): unknown {
  return error instanceof A2AError || error instanceof TurnAborted ? error : new StoreUnavailable(error);
}

/**
 * The store as the operations use it: a failed call throws a public error and logs its cause. Writes of turns bypass
 * it, since they have their own retries.
 */
export function guardStore(store: TaskStore, logger: Logger): TaskStore {
  const calls = guarded<Omit<TaskStore, "close">>(taskCalls, store, failing(logger, "the task store failed"));
  return { ...calls, close: () => store.close() };
}

/** The same for the push store. */
export function guardPushStore(store: PushStore, logger: Logger): PushStore {
  const calls = guarded<Omit<PushStore, "close">>(
    pushCalls,
    store,
    failing(logger, "the store of push configurations failed"),
  );
  return { ...calls, close: () => store.close() };
}

function guarded<Port extends object>(calls: PortCalls<Port>, port: Port, fail: (error: unknown) => never): Port {
  return portOf(calls, (method, kind) =>
    kind === "turn" ? (...args) => callOf(port, method, args) : (...args) => callOf(port, method, args).catch(fail),
  );
}

function failing(logger: Logger, message: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof A2AError) throw error;
    logger.error({ error }, message);
    throw new StoreUnavailable(error);
  };
}
