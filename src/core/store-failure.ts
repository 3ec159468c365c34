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

/** The answer to a caller whose task store did not answer. What became of a write is not known. */
export class StoreUnavailable extends A2AError {
  constructor(cause: unknown) {
    super("unavailable", "the task store does not answer, try again", { cause, retryAfterMs: 1000 });
  }
}

/** True for an error with which a store has answered, such as that it is full; false when it could not be asked. */
export function isAnswer(error: unknown): error is A2AError {
  return error instanceof A2AError && !(error instanceof StoreUnavailable);
}

const storePauses: Growth = { firstMs: 20, maxMs: 2000 };

/** How a call is brought through failures of the store: it is tried again until `storeRetryMs` have passed. */
export function storeRetries({ clock, limits }: { readonly clock: Clock; readonly limits: CoreLimits }): RetryPlan {
  const until = clock.now() + limits.storeRetryMs;
  return {
    clock,
    pauseAfter(error, failures) {
      const pauseMs = grownPause(failures, storePauses);
      // An answer, such as a full store, is not a failure to get one.
      return isAnswer(error) || clock.now() + pauseMs > until ? undefined : pauseMs;
    },
  };
}

/** What a caller hears of a write that failed. */
export function publicFailure(error: unknown): unknown {
  return error instanceof A2AError || error instanceof TurnAborted ? error : new StoreUnavailable(error);
}

/**
 * The store as the operations use it: a failed call gives the caller a public error, and the log its cause. The writes of turns have a
 * way of their own through failures, and go past it.
 */
export function guardStore(store: TaskStore, logger: Logger): TaskStore {
  const calls = guarded<Omit<TaskStore, "close">>(taskCalls, store, failing(logger, "the task store failed"));
  return { ...calls, close: () => store.close() };
}

/** The same of the store of push configurations. */
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
