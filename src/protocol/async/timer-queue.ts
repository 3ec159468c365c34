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
 * any more, that timer runs out once and sets no other, or it is canceled at once if the queue does not keep it.
 */
export class TimerQueue {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #keepsIdle: () => boolean;
  #oldest: Timer | undefined;
  #newest: Timer | undefined;
  #disarm: (() => void) | undefined;

  /** `keepsIdle`: whether the timer of the clock stays when nothing waits any more. Default: it does. */
  constructor(clock: Clock, ms: number, keepsIdle: () => boolean = () => true) {
    this.#clock = clock;
    this.#ms = ms;
    this.#keepsIdle = keepsIdle;
  }

  /** Calls `run` once after the duration; the returned function cancels it. */
  add(run: () => void): () => void {
    const dueMs = monotonic(this.#clock) + this.#ms;
    const timer: Timer = { dueMs, run, older: this.#newest, newer: undefined, isOver: false };
    if (this.#newest === undefined) this.#oldest = timer;
    else this.#newest.newer = timer;
    this.#newest = timer;
    if (this.#disarm === undefined) this.#arm(this.#ms);
    return () => this.#remove(timer);
  }

  /** Cancels the timer of the clock if nothing waits for it and the queue does not keep it. */
  dropIdle(): void {
    if (this.#oldest !== undefined || this.#keepsIdle()) return;
    this.#disarm?.();
    this.#disarm = undefined;
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
    this.dropIdle();
  }

  #arm(ms: number): void {
    this.#disarm = this.#clock.after(ms, () => this.#runDue());
  }

  #runDue(): void {
    this.#disarm = undefined;
    const now = monotonic(this.#clock);
    for (let timer = this.#oldest; timer !== undefined && timer.dueMs <= now; timer = this.#oldest) {
      this.#remove(timer);
      timer.run();
    }
    // Timers of Node may be early by a fraction of a millisecond.
    if (this.#oldest !== undefined && this.#disarm === undefined) {
      this.#arm(Math.max(1, Math.ceil(this.#oldest.dueMs - now)));
    }
  }
}

/** The queues of a clock, by their durations, and how many processes use them. */
class ClockTimers {
  readonly queues = new Map<number, TimerQueue>();
  users = 0;
}

const ofClocks = new WeakMap<Clock, ClockTimers>();

function findTimers(clock: Clock): ClockTimers {
  let timers = ofClocks.get(clock);
  if (timers === undefined) {
    timers = new ClockTimers();
    ofClocks.set(clock, timers);
  }
  return timers;
}

/** The timers of one duration of a clock, which all who wait so long share. For durations that are settings. */
export function sharedTimers(clock: Clock, ms: number): TimerQueue {
  const timers = findTimers(clock);
  let queue = timers.queues.get(ms);
  if (queue === undefined) {
    queue = new TimerQueue(clock, ms, () => timers.users > 0);
    timers.queues.set(ms, queue);
  }
  return queue;
}

/**
 * Lets the shared timers of a clock stay for the next who wait, until the returned function is called. Behind a process
 * that has closed no timer stays for which nothing waits.
 */
export function keepTimers(clock: Clock): () => void {
  const timers = findTimers(clock);
  timers.users += 1;
  let isKept = true;
  return () => {
    if (isKept) timers.users -= 1;
    isKept = false;
    for (const queue of timers.queues.values()) queue.dropIdle();
  };
}
