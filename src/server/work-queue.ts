import { endOfTurn } from "../binding/service.js";
import { type Clock, monotonic } from "../protocol/async/clock.js";

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
  /** The work that waits, in round-robin order: the next caller comes first. */
  const callers = new Map<string, Work[]>();
  let waiting = 0;
  let isResting = false;
  /** Time that turns took and the queue has not rested for. */
  let owedMs = 0;

  const takeTurn = (): void => {
    isResting = false;
    const [first] = callers;
    if (first === undefined) return;
    const [caller, works] = first;
    isResting = true;
    const begin = monotonic(clock);
    let tookMs = 0;
    for (let work = works[0]; work !== undefined && tookMs < turnMs; work = works[0]) {
      const outcome = work();
      if (outcome === "done") {
        works.shift();
        waiting -= 1;
      }
      tookMs = monotonic(clock) - begin;
      if (outcome === "ends the turn") break;
    }
    owedMs += tookMs;
    callers.delete(caller);
    if (works.length > 0) callers.set(caller, works);
    setImmediate(rest);
  };

  const rest = (): void => {
    const ms = owedMs;
    if (waiting > 0 && ms < turnMs) return takeTurn();
    owedMs = 0;
    if (waiting > 0 && isShared(waiting)) clock.after(ms, takeTurn);
    else takeTurn();
  };

  return {
    run: (caller, steps) =>
      new Promise((resolve, reject) => {
        const works = callers.get(caller) ?? [];
        works.push(() => {
          try {
            const { done, value } = steps.next();
            if (done !== true) return value === endOfTurn ? "ends the turn" : "continues";
            resolve(value);
          } catch (error) {
            reject(error);
          }
          return "done";
        });
        callers.set(caller, works);
        waiting += 1;
        if (!isResting) takeTurn();
      }),
  };
}
