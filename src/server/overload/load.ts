import type { Overload, ProcessLoad } from "../../core/process-load.js";
import { type Clock, monotonic } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import { A2AError } from "../../protocol/errors.js";
import type { Logger } from "../../protocol/logger.js";
import type { OverloadLimits, OverloadMeasure } from "./limits.js";
import { createEventLoopMeasure, createMemoryMeasures, type Measure, type MemoryMeasure } from "./measures.js";
import { type Memories, processMemories } from "./memory.js";

// Memory and event loop are measured four times a second while calls come; memory also after garbage collections and
// when many bytes have come.
// An idle server measures nothing. A garbage collection or one long computation makes one bad measurement, and `measures.ts`
// needs five in a row, or rounds of the event loop that last as long together. Only memory at its limit refuses at once.
//
// This file only measures. `core/turn-slots.ts` refuses what would start a turn, first of owners with more than their
// share of the running turns; `server/byte-ledger.ts` refuses large requests. What one owner may hold before there is an
// overload is bounded by `core/running-memory.ts` (tasks that run) and `core/read-gate.ts` (reads of the store); their
// defaults are parts of the heap (`protocol/heap-size.ts`).

/** Pause between two measurements. */
const pauseMs = 250;
/** The shortest timer: it fires in the next round of the event loop. */
const roundTimerMs = 1;
/** A delay of the pause counts as a measurement from this part of the limit on. */
const longPart = 0.5;
/** After so many measurements without a call, measuring rests until the next call. */
const idleMeasurements = 20;
/** Memory that a send may take before it is measured again. */
const sendBytes = 32 << 10;
/** Memory is measured again when this part of it has been booked. */
const bookedPart = 1 / 64;
/** Requests up to this size are read in every overload: those of reads are smaller. */
const smallRequestBytes = 64 << 10;
const retryAfterMs = 2000;

export interface LoadOptions {
  readonly clock: Clock;
  readonly limits: OverloadLimits;
  readonly logger: Logger;
  /** Default: those of the process. */
  readonly memories?: Memories | undefined;
}

/** The load of the process; `undefined` when nothing is to be measured. */
export function createLoad({ memories = processMemories(), ...options }: LoadOptions): Load | undefined {
  const measures = {
    memories: createMemoryMeasures(options.limits, memories),
    eventLoop: createEventLoopMeasure(options.limits),
  };
  if (measures.memories.length === 0 && measures.eventLoop === undefined) return undefined;
  return new Load(options, measures);
}

/** Measures the process and says when it is overloaded. */
export class Load implements ProcessLoad {
  readonly #options: LoadOptions;
  readonly #memories: readonly MemoryMeasure[];
  readonly #eventLoop: Measure | undefined;
  readonly #listeners: ((ready: boolean) => void)[] = [];
  /** Sends and large requests that were refused so far, by limit. */
  readonly refusals: Record<OverloadMeasure, number> = { heapMaxRatio: 0, containerMaxRatio: 0, eventLoopMaxMs: 0 };
  #overload: Overload | undefined;
  /** Since when there is an overload, and how much had been refused before. */
  #start: { readonly ms: number; readonly refusals: number } | undefined;
  /** Bytes after which memory is measured again. */
  readonly #step: number;
  #bytes = 0;
  #idleCount = 0;
  #state: "resting" | "measuring" | "closed" = "resting";
  #cancel = noop;
  #unwatch: readonly (() => void)[] = [];
  #cancelAway: (() => void) | undefined;
  #isReady = true;

  constructor(
    options: LoadOptions,
    { memories, eventLoop }: { memories: readonly MemoryMeasure[]; eventLoop: Measure | undefined },
  ) {
    this.#options = options;
    this.#memories = memories;
    this.#eventLoop = eventLoop;
    this.#step = Math.min(...memories.map(({ gauge }) => gauge.size)) * bookedPart;
  }

  overload(): Overload | undefined {
    this.noteBytes(sendBytes);
    return this.#overload;
  }

  /** Takes note of bytes that a call brings into memory. */
  noteBytes(bytes: number): void {
    this.#idleCount = 0;
    this.#bytes += bytes;
    if (this.#state === "resting") this.#begin();
    else if (this.#bytes >= this.#step) this.#measureMemory();
  }

  /** Throws `unavailable` when there is no memory for a request of this size. */
  checkRequest(bytes: number): void {
    if (bytes <= smallRequestBytes || this.#overload === undefined) return;
    if (this.#memories.some(({ level }) => level.refuses === "all")) throw this.#overload.refuse();
  }

  /** Calls back when every send has been refused for `overloadUnreadyMs`, and when that is over. */
  watch(listener: (ready: boolean) => void): void {
    this.#listeners.push(listener);
  }

  close(): void {
    this.#stopMeasuring();
    this.#cancel();
    this.#cancelAway?.();
    this.#state = "closed";
  }

  #begin(): void {
    this.#state = "measuring";
    for (const { level } of this.#measures()) level.reset();
    this.#unwatch = this.#memories.map(({ gauge }) => gauge.watch?.(() => this.#measureMemory()) ?? noop);
    this.#measureMemory();
    this.#pause();
  }

  #stopMeasuring(): void {
    this.#state = "resting";
    for (const unwatch of this.#unwatch) unwatch();
    this.#unwatch = [];
  }

  #pause(): void {
    const { clock } = this.#options;
    const begin = monotonic(clock);
    this.#cancel = clock.after(pauseMs, () => {
      this.#noteDelay(monotonic(clock) - begin - pauseMs);
      this.#round();
    });
  }

  // A pause that ends too late also shows a long round. Agents that compute for seconds leave few rounds to time.
  #noteDelay(delayMs: number): void {
    if (this.#eventLoop === undefined || delayMs < this.#eventLoop.max * longPart) return;
    this.#eventLoop.level.measure(delayMs / this.#eventLoop.max);
    this.#conclude();
  }

  // Times one round of the event loop.
  #round(): void {
    const { clock } = this.#options;
    const begin = monotonic(clock);
    this.#cancel = clock.after(roundTimerMs, () => this.#onRound(monotonic(clock) - begin - roundTimerMs));
  }

  #onRound(roundMs: number): void {
    this.#bytes = 0;
    for (const { level, gauge, max } of this.#memories) level.measure(gauge.read() / max);
    this.#eventLoop?.level.measure(roundMs / this.#eventLoop.max);
    this.#conclude();
    this.#idleCount += 1;
    if (this.#idleCount <= idleMeasurements || this.#overload !== undefined) this.#pause();
    else this.#stopMeasuring();
  }

  // Measures memory alone, between two measurements.
  #measureMemory(): void {
    this.#bytes = 0;
    let changed = false;
    for (const { level, gauge, max } of this.#memories) {
      const before = level.refuses;
      level.measureBetween(gauge.read() / max);
      changed ||= level.refuses !== before;
    }
    if (changed) this.#conclude();
  }

  #measures(): readonly Measure[] {
    return this.#eventLoop === undefined ? this.#memories : [...this.#memories, this.#eventLoop];
  }

  #conclude(): void {
    const measures = this.#measures();
    const worst =
      measures.find(({ level }) => level.refuses === "all") ?? measures.find(({ level }) => level.refuses === "excess");
    this.#overload = worst && this.#overloadBy(worst);
    this.#log(worst);
    this.#reportAway(this.#overload?.refuses === "all");
  }

  #overloadBy(measure: Measure): Overload {
    const refuses = measure.level.refuses === "all" ? "all" : "excess";
    return {
      refuses,
      refuse: () => {
        const { name } = measure;
        this.refusals[name] += 1;
        const who = refuses === "all" ? "" : ", and this caller has more than its share of the running turns";
        const text = `the server is overloaded: ${measure.describe()}${who}`;
        return new A2AError("unavailable", text, { retryAfterMs, metadata: { limit: name } });
      },
    };
  }

  // One record when an overload begins, and one when it ends.
  #log(worst: Measure | undefined): void {
    const { clock, logger } = this.#options;
    const refusals = Object.values(this.refusals).reduce((sum, each) => sum + each, 0);
    if (worst !== undefined && this.#start === undefined) {
      this.#start = { ms: monotonic(clock), refusals };
      logger.warn({ limit: worst.name, seen: worst.describe() }, "the server is overloaded and refuses sends");
    } else if (worst === undefined && this.#start !== undefined) {
      const overloadedMs = Math.round(monotonic(clock) - this.#start.ms);
      logger.info({ overloadedMs, refused: refusals - this.#start.refusals }, "the server takes all sends again");
      this.#start = undefined;
    }
  }

  #reportAway(refusesAll: boolean): void {
    const { clock, limits } = this.#options;
    if (refusesAll) {
      this.#cancelAway ??= clock.after(limits.overloadUnreadyMs, () => this.#setReady(false));
      return;
    }
    this.#cancelAway?.();
    this.#cancelAway = undefined;
    this.#setReady(true);
  }

  #setReady(ready: boolean): void {
    if (this.#isReady === ready) return;
    this.#isReady = ready;
    for (const listener of this.#listeners) listener(ready);
  }
}
