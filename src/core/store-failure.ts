import { type Growth, grownPause, type RetryPlan } from "../protocol/async/retry.js";
import { A2AError } from "../protocol/errors.js";
import type { Logger } from "../protocol/logger.js";
import { TurnAborted } from "./agent.js";
import type { CoreLimits } from "./limits.js";
import type { Clock, PushStore, TaskStore } from "./ports.js";

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
  const fail = failing(logger, "the task store failed");
  return {
    create: (task) => store.create(task),
    append: (write) => store.append(write),
    taskNamed: (scope, name) => store.taskNamed(scope, name).catch(fail),
    read: (scope, id) => store.read(scope, id).catch(fail),
    head: (scope, id) => store.head(scope, id).catch(fail),
    recordsAfter: (key, after, limit) => store.recordsAfter(key, after, limit).catch(fail),
    heads: (keys) => store.heads(keys).catch(fail),
    list: (scope, query) => store.list(scope, query).catch(fail),
    put: (key, entry, maxMessages, fence) => store.put(key, entry, maxMessages, fence).catch(fail),
    inbox: (key) => store.inbox(key).catch(fail),
    withdraw: (key, entryId) => store.withdraw(key, entryId).catch(fail),
    renew: (instance, ttlMs) => store.renew(instance, ttlMs).catch(fail),
    retire: (instance) => store.retire(instance).catch(fail),
    orphans: (agent, limit, after) => store.orphans(agent, limit, after).catch(fail),
    due: (agent, limit, after) => store.due(agent, limit, after).catch(fail),
    beginSend: (send) => store.beginSend(send).catch(fail),
    readSend: (scope, messageId) => store.readSend(scope, messageId).catch(fail),
    takeSend: (claim, instance) => store.takeSend(claim, instance).catch(fail),
    settleSend: (claim, outcome, bytes) => store.settleSend(claim, outcome, bytes).catch(fail),
    forgetSend: (claim) => store.forgetSend(claim).catch(fail),
    close: () => store.close(),
  };
}

/** The same of the store of push configurations. */
export function guardPushStore(store: PushStore, logger: Logger): PushStore {
  const fail = failing(logger, "the store of push configurations failed");
  return {
    set: (registration, max) => store.set(registration, max).catch(fail),
    get: (key, id) => store.get(key, id).catch(fail),
    list: (key) => store.list(key).catch(fail),
    delete: (key, id) => store.delete(key, id).catch(fail),
    advance: (key, id, cursor) => store.advance(key, id, cursor).catch(fail),
    settle: (key, id, end) => store.settle(key, id, end).catch(fail),
    adopt: (agent, instance, limit) => store.adopt(agent, instance, limit).catch(fail),
    release: (instance) => store.release(instance).catch(fail),
    close: () => store.close(),
  };
}

function failing(logger: Logger, message: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof A2AError) throw error;
    logger.error({ error }, message);
    throw new StoreUnavailable(error);
  };
}
