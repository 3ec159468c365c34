import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../core/ports.js";
import { type Logger, silentLogger } from "../../protocol/logger.js";
import type { Backend, Retention } from "./rows.js";
import { storeErrorFrom } from "./store-error.js";

/** Retention of finished tasks, logs and sends in a SQL store. */
export interface RetentionOptions {
  /** How long a finished task is kept, in milliseconds; `Infinity` keeps it for ever. Default: 30 days. */
  readonly tasksMs?: number | undefined;
  /** How many finished tasks are kept, newest first. Default: all. */
  readonly tasksMax?: number | undefined;
  /**
   * How long the log of a finished task is kept, so that late subscribers get every event; `Infinity` keeps it for
   * ever. It goes with its task at the latest, so more than `tasksMs` is refused. Default: 24 h.
   */
  readonly logsMs?: number | undefined;
  /** How long an idempotent send is remembered, in milliseconds. Default: 24 h. */
  readonly sendsMs?: number | undefined;
}

const dayMs = 24 * 3_600_000;

export function resolveRetention(options: RetentionOptions = {}): Retention {
  const { tasksMs = 30 * dayMs, tasksMax, logsMs = dayMs, sendsMs = dayMs } = options;
  return { tasksMs: finite(tasksMs), tasksMax, logsMs: finite(logsMs), sendsMs };
}

function finite(ms: number): number | undefined {
  return Number.isFinite(ms) ? ms : undefined;
}

export interface PruneOptions {
  /** Rows of each kind dropped in one batch; writers wait for at most one batch. Default: 200. */
  readonly batch?: number | undefined;
  /** Stops the work after the current batch. */
  readonly signal?: AbortSignal | undefined;
}

/** Counts of the rows that a round of pruning dropped. */
export interface PruneTotals {
  readonly tasks: number;
  readonly logs: number;
  /** Entries of conversations. */
  readonly entries: number;
}

/** Drops everything past its retention, in batches between which other calls run. */
export async function prune(
  backend: Pick<Backend, "prune">,
  retention: Retention,
  { batch = 200, signal }: PruneOptions = {},
): Promise<PruneTotals> {
  const sum = { tasks: 0, logs: 0, entries: 0 };
  while (signal?.aborted !== true) {
    const { tasks, logs, entries, more } = await backend.prune(retention, batch);
    sum.tasks += tasks;
    sum.logs += logs;
    sum.entries += entries;
    if (!more) break;
    await setImmediate();
  }
  return sum;
}

export interface MaintenanceOptions {
  readonly clock: Clock;
  readonly retention: Retention;
  /** Time between two rounds. */
  readonly everyMs: number;
  readonly logger?: Logger | undefined;
}

/** Prunes periodically. The returned function stops it, and resolves when no batch is under way. */
export function startMaintenance(backend: Pick<Backend, "prune">, options: MaintenanceOptions): () => Promise<void> {
  const { clock, retention, everyMs, logger = silentLogger } = options;
  const end = new AbortController();
  let round: Promise<void> = Promise.resolve();
  let cancel = wait();

  function wait(): () => void {
    return clock.after(everyMs, () => {
      round = work();
    });
  }

  async function work(): Promise<void> {
    try {
      const dropped = await prune(backend, retention, { signal: end.signal });
      if (dropped.tasks + dropped.logs + dropped.entries > 0) {
        logger.debug(dropped, "finished tasks and old conversations were dropped from the store");
      }
    } catch (error) {
      // The next round finds the remaining rows again.
      logger.warn({ err: storeErrorFrom(error) }, "finished tasks could not be dropped from the store");
    }
    if (!end.signal.aborted) cancel = wait();
  }

  return async () => {
    end.abort();
    cancel();
    await round;
  };
}
