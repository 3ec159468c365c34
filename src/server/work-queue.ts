import { endOfTurn } from "../binding/service.js";
import { type Clock, monotonic } from "../protocol/async/clock.js";
import { FairQueue } from "../protocol/fair-queue.js";

/**
 * Fair queueing of large work, such as encoding megabytes, which would otherwise keep all other calls from the processor:
 * callers take turns, and a turn ends after the step that passes 1 ms. The event loop serves other calls before the
 * next turn. While other calls are active, the queue also rests for as long as the turn took, so that it takes half of
 * the processor at most.
 */
export interface WorkQueue {
  /**
   * Runs work of a caller step by step and resolves with what the last step returns. Of one caller, work runs in its
   * order. The first step runs before `run` returns if the queue is idle.
   */
  run<T>(caller: string, steps: Iterator<unknown, T>): Promise<T>;
}

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** Whether more calls are active than the `waiting` ones of the queue. */
  readonly isShared: (waiting: number) => boolean;
}

/** Runs one step, and says how the turn continues. */
type Work = () => "continues" | "done" | "ends the turn";

/** The length of a turn, and the shortest rest that a timer can measure. */
const turnMs = 1;

export function createWorkQueue({ clock, isShared }: WorkQueueOptions): WorkQueue {
  /** By caller. The work of a turn stays the first of its caller until it is done. */
  const works = new FairQueue<Work>();
  let isResting = false;
  /** Time that turns took and the queue has not rested for. */
  let owedMs = 0;

  const takeTurn = (): void => {
    isResting = false;
    const caller = works.nextKey;
    if (caller === undefined) return;
    isResting = true;
    const begin = monotonic(clock);
    let tookMs = 0;
    for (let work = works.first(caller); work !== undefined && tookMs < turnMs; work = works.first(caller)) {
      const outcome = work();
      if (outcome === "done") works.takeFrom(caller);
      tookMs = monotonic(clock) - begin;
      if (outcome === "ends the turn") break;
    }
    owedMs += tookMs;
    works.endTurn(caller);
    setImmediate(pauseTurn);
  };

  const pauseTurn = (): void => {
    const ms = owedMs;
    if (works.size > 0 && ms < turnMs) return takeTurn();
    owedMs = 0;
    if (works.size > 0 && isShared(works.size)) clock.after(ms, takeTurn);
    else takeTurn();
  };

  return {
    run: (caller, steps) =>
      new Promise((resolve, reject) => {
        works.add(caller, () => {
          try {
            const { done, value } = steps.next();
            if (done !== true) return value === endOfTurn ? "ends the turn" : "continues";
            resolve(value);
          } catch (error) {
            reject(error);
          }
          return "done";
        });
        if (!isResting) takeTurn();
      }),
  };
}
