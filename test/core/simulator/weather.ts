import type { CoreLimits } from "../../../src/core/limits.js";
import type { Random } from "./random.js";

/** The faults of a world. Each seed has only some of them, so that each fault occurs alone and combined. */
export interface Weather {
  /** Probability that a store call is slow, and its maximum delay in virtual milliseconds. */
  readonly slow: number;
  readonly slowMs: number;
  /** Probability that a store call fails, before its effect, after it, or with the effect still to come. */
  readonly failing: number;
  /** The store is unreachable at times, for longer than a turn waits. */
  readonly outages: boolean;
  /** The store is away for all at times, for longer than a lease lasts. */
  readonly away: boolean;
  /** The clocks of the store and of processes are set, forward and back. */
  readonly steps: boolean;
  readonly hintsLost: number;
  readonly hintsDoubled: number;
  readonly hintMs: number;
  readonly crashes: boolean;
  readonly pauses: boolean;
  /** Processes are shut down gracefully and replaced. */
  readonly leaves: boolean;
  /** Clock skew between processes. */
  readonly skewMs: number;
  /** Logs of finished tasks are dropped early, so that late readers find them compacted. */
  readonly shortLogs: boolean;
  /** Turns of dead processes are re-run. */
  readonly restartable: boolean;
  readonly processes: number;
  readonly clients: number;
  readonly pace: "calm" | "hasty";
  /** Probability that a client picks the youngest task. */
  readonly focus: number;
  /** Probability that a write takes longer than a send waits for it, while leases are renewed in time. */
  readonly lateWrites: number;
  /** Probability that an agent answers with a message alone, so that a process may take it for one that needs no store. */
  readonly replies: number;
  /** Running tasks take more memory than there is: turns wait, and some are ended. */
  readonly crowded: boolean;
}

export function drawWeather(random: Random): Weather {
  const some = (probability: number, most: number): number => (random.chance(probability) ? random.next() * most : 0);
  return {
    slow: some(0.6, 0.7),
    slowMs: random.pick([2, 30, 400]),
    failing: some(0.4, 0.15),
    outages: random.chance(0.15),
    hintsLost: random.chance(0.1) ? 1 : some(0.4, 0.8),
    hintsDoubled: some(0.3, 0.5),
    hintMs: random.pick([0, 0, 20, 700]),
    crashes: random.chance(0.3),
    pauses: random.chance(0.3),
    leaves: random.chance(0.2),
    skewMs: random.chance(0.3) ? random.int(1, 3000) : 0,
    shortLogs: random.chance(0.15),
    restartable: random.chance(0.5),
    processes: random.pick([1, 2, 2, 3]),
    clients: random.int(1, 5),
    pace: random.pick(["calm", "hasty"]),
    focus: random.pick([0.5, 0.8, 1]),
    away: random.chance(0.2),
    steps: random.chance(0.2),
    lateWrites: some(0.25, 0.3),
    replies: random.chance(0.2) ? random.pick([0.5, 0.95, 1]) : 0,
    crowded: random.chance(0.3),
  };
}

/** True when nothing can come between a message and its turn. */
export function isFair(weather: Weather): boolean {
  return keepsTasks(weather) && !weather.away && weather.lateWrites === 0;
}

/** True when no process loses a task: nothing happens to one process that does not happen to all. */
export function keepsTasks({ failing, outages, crashes, pauses }: Weather): boolean {
  return failing === 0 && !outages && !crashes && !pauses;
}

/** True when store calls are answered soon enough to meet every time limit. */
export function isPrompt(weather: Weather): boolean {
  return isFair(weather) && weather.slowMs <= 30;
}

/** Limits that a short run reaches. */
export function drawLimits(random: Random, { away, crowded }: Weather): Partial<CoreLimits> {
  return {
    batchMaxEvents: random.pick([1, 2, 8, 64]),
    inboxMaxMessages: random.pick([1, 2, 16]),
    inboxWaitMs: random.pick([30, 500, 2000]),
    taskAfterMs: random.pick([20, 300]),
    graceMs: 1000,
    // A turn must outlast the time for which the store is away.
    storeRetryMs: away ? 20_000 : 3000,
    turnDeadlineMs: random.chance(0.2) ? 3000 : undefined,
    heartbeatMs: 1000,
    instanceTtlMs: 4000,
    pollMs: 500,
    historyMaxMessages: random.chance(0.1) ? 4 : 1000,
    ...(crowded ? { runningMaxBytes: random.pick([200, 1000, 4000]), runningWaitMs: random.pick([200, 3000]) } : {}),
  };
}
