import { monotonic } from "../protocol/async/clock.js";
import { noop } from "../protocol/async/noop.js";
import type { Logger } from "../protocol/logger.js";
import type { CoreLimits } from "./limits.js";
import type { CallKind, Clock } from "./ports.js";
import { inStoreTime, isAnswer, NoAnswer, StoreUnavailable, Unanswered } from "./store-failure.js";

// A failed call alone may be about one task or one connection. It causes a probe, a small write. If that fails too, or
// takes longer than `storeWaitMs`, the store is away. Probes then continue until one succeeds. A call that fails because
// there is no room needs no probe to confirm it.
//
// | state | transition | next  |                                                                        |
// |-------|------------|-------|------------------------------------------------------------------------|
// | ready | failed     | doubt | a call failed or took too long; a probe starts                         |
// | ready, doubt | full | full | a call found no room                                                   |
// | doubt, away, full | probe fails | away, full | the next probe follows after `probeMs`                  |
// | doubt, away | answered | ready | a probe succeeded in time, or another write                         |
// | full  | answered   | ready | a probe found room                                                     |
//
// The log and readiness follow outages, which are longer: an outage begins when the store is away or full, or when a send
// got no answer in time, although the store may answer probes. It ends with the state `ready`. After late answers it
// ends only once writes have been in time for `calmMs`, or a store of changing speed would come and go.

/** Pause between two probes. Refused callers get it as the time to wait. */
const probeMs = 1000;
/** How long writes must be in time before an outage with late ones is over. More than a late probe and the pause before it. */
const calmMs = ({ storeWaitMs }: StoreHealthOptions["limits"]): number => storeWaitMs + 3 * probeMs;

/** Least time between two records of late calls that come without an outage. */
const lateLogPauseMs = 60_000;

type State = "ready" | "doubt" | "away" | "full";

export interface StoreHealthOptions {
  readonly clock: Clock;
  readonly limits: Pick<CoreLimits, "storeRetryMs" | "storeWaitMs" | "storeAwayMs">;
  readonly logger: Logger;
}

/** The calls that find out whether the store is there. */
export interface StoreProbes {
  /** A small write. */
  write(): Promise<void>;
  /** A write that needs room. */
  writeLarge(): Promise<void>;
  /** A write of a task that does not exist. */
  writeTask(): Promise<void>;
}

interface Outage {
  readonly since: number;
  /** The first call of a send that got no answer in time. */
  late?: unknown;
  /** What the log has of it already. */
  readonly logged: Set<"away" | "full" | "late">;
}

/** Whether the store takes writes: learned from all calls, and from probes once one has failed. */
export class StoreHealth {
  readonly #options: StoreHealthOptions;
  #probes: StoreProbes | undefined;
  #state: State = "ready";
  #cause: unknown;
  #outage: Outage | undefined;
  #probing: Promise<void> | undefined;
  #confirmation: Promise<boolean> | undefined;
  #cancelProbe = noop;
  #cancelAway = noop;
  #cancelCalm = noop;
  #closed = false;
  #isReady = true;
  /** The first call that was late while the store was not in doubt. */
  #lateCall: unknown;
  /** Late calls that the log has are not logged again until then. */
  #lateLoggedUntil: number | undefined;
  readonly #listeners: ((ready: boolean) => void)[] = [];
  /** Failures that came while the store was in doubt or away: the log has the first one. */
  readonly #loggedFailures = new WeakSet<object>();

  constructor(options: StoreHealthOptions) {
    this.#options = options;
  }

  /** Sets the probes. Before that no failure is followed up. */
  probeWith(probes: StoreProbes): void {
    this.#probes = probes;
  }

  /** True while the store is known to take no writes. */
  get away(): boolean {
    return this.#state === "away" || this.#state === "full";
  }

  /** Throws `StoreUnavailable` while the store is known to take no writes. */
  check(): void {
    if (this.away) throw new StoreUnavailable(this.#cause);
  }

  /** Asks with a small write whether the store is there. All who ask meanwhile share the answer. */
  confirm(): Promise<boolean> {
    this.#confirmation ??= this.#confirm().finally(() => {
      this.#confirmation = undefined;
    });
    return this.#confirmation;
  }

  /** Watches a call of the store, which it returns. */
  observe<T>(call: Promise<T>, kind: CallKind): Promise<T> {
    if (this.#state === "ready" || kind === "read") {
      call.catch(this.noteFailure);
      return call;
    }
    const { clock, limits } = this.#options;
    const until = monotonic(clock) + limits.storeWaitMs;
    call.then(() => {
      if (monotonic(clock) < until) this.#onAnswer();
    }, this.noteFailure);
    return call;
  }

  /** Takes note of a call that failed, or that did not answer in time. */
  readonly noteFailure = (error: unknown): void => {
    if (isAnswer(error) || this.#closed || this.#probes === undefined) return;
    if (this.#state !== "ready") this.#note(error);
    if (error instanceof Unanswered || error instanceof NoAnswer) this.#noteLate(error);
    if (hasNoRoom(error)) return this.#markAway(error, "full");
    this.#doubt();
  };

  /**
   * Takes note of a call, other than of a send, that did not answer in time. It may be one long read: only a probe shows
   * whether the store is away.
   */
  noteLateCall(error: unknown): void {
    if (this.#closed || this.#probes === undefined || this.#state !== "ready" || this.#probing !== undefined) return;
    this.#lateCall = error;
    this.#doubt();
  }

  /** Calls back when the store has been away for `storeAwayMs`, and when it is back after that. */
  watch(listener: (ready: boolean) => void): void {
    this.#listeners.push(listener);
  }

  /** The same logger, in which failures that follow from one already logged are `debug`. */
  quiet(logger: Logger): Logger {
    const lower = (level: "warn" | "error") => (fields: object, message: string) =>
      this.#isRepeated(fields) ? logger.debug(fields, message) : logger[level](fields, message);
    return {
      debug: (fields, message) => logger.debug(fields, message),
      info: (fields, message) => logger.info(fields, message),
      warn: lower("warn"),
      error: lower("error"),
    };
  }

  /** Ends the probes. Resolves when none is under way. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelProbe();
    this.#cancelAway();
    this.#cancelCalm();
    await this.#probing;
  }

  readonly #onAnswer = (): void => {
    if (this.#state !== "full") this.#markReady();
  };

  async #confirm(): Promise<boolean> {
    if (this.away) return false;
    try {
      if (this.#probes !== undefined) await inStoreTime(this.#options, this.#probes.write());
      return true;
    } catch (error) {
      this.noteFailure(error);
      return isAnswer(error);
    }
  }

  // The calls of a probe fail too.
  #doubt(): void {
    if (this.#state !== "ready" || this.#probing !== undefined) return;
    this.#state = "doubt";
    this.#probe();
  }

  #probe(): void {
    this.#cancelProbe();
    this.#probing ??= this.#tryOnce().finally(() => {
      this.#probing = undefined;
      if (!this.#closed && (this.#state !== "ready" || this.#outage !== undefined)) {
        this.#cancelProbe = this.#options.clock.after(probeMs, () => this.#probe());
      }
    });
  }

  async #tryOnce(): Promise<void> {
    const probes = this.#probes;
    if (probes === undefined) return;
    const state = this.#state;
    const isFull = state === "full";
    try {
      if (state === "ready") await inStoreTime(this.#options, probes.writeTask());
      else await inStoreTime(this.#options, isFull ? probes.writeLarge() : probes.write());
      // It may have become full meanwhile.
      if (isFull || this.#state !== "full") this.#markReady();
    } catch (error) {
      if (isAnswer(error)) this.#markReady();
      else if (state === "ready") this.noteFailure(error);
      // Other writes were answered meanwhile: the probe was slow, and the store is there.
      else if (this.#state !== "ready")
        this.#markAway(error, hasNoRoom(error) || this.#state === "full" ? "full" : "away");
    }
  }

  #noteLate(error: unknown): void {
    this.#begin().late ??= error;
    this.#awaitCalm();
  }

  #markAway(error: unknown, state: "away" | "full"): void {
    if (this.#closed) return;
    const { clock, logger } = this.#options;
    const wasAway = this.away;
    this.#state = state;
    this.#note(error);
    if (wasAway) return;
    this.#cause = error;
    const outage = this.#begin();
    if (error instanceof Unanswered) outage.late ??= error;
    if (!outage.logged.has(state)) {
      outage.logged.add(state);
      if (state === "full") logger.error({ err: error }, "the task store is full");
      else logger.error({ err: error }, "the task store is away");
    }
    if (this.#probing === undefined) this.#cancelProbe = clock.after(probeMs, () => this.#probe());
  }

  #markReady(): void {
    if (this.#state === "ready") return;
    this.#state = "ready";
    const outage = this.#outage;
    if (outage?.late === undefined) {
      this.#cancelProbe();
      this.#logLateCall();
      this.#end();
      return;
    }
    // It answers probes, so nothing else names the cause.
    if (outage.logged.size === 0) {
      outage.logged.add("late");
      this.#options.logger.warn({ err: outage.late }, "the task store answers too late for sends");
    }
    this.#awaitCalm();
  }

  // The store takes writes, so nothing else names the cause.
  #logLateCall(): void {
    const { clock, logger } = this.#options;
    const isLogged = this.#lateLoggedUntil !== undefined && monotonic(clock) < this.#lateLoggedUntil;
    if (this.#lateCall !== undefined && this.#outage === undefined && !isLogged) {
      this.#lateLoggedUntil = monotonic(clock) + lateLogPauseMs;
      logger.warn({ err: this.#lateCall }, "the task store answers too late for some calls");
    }
    this.#lateCall = undefined;
  }

  #begin(): Outage {
    const { clock, limits } = this.#options;
    if (this.#outage !== undefined) return this.#outage;
    this.#outage = { since: monotonic(clock), logged: new Set() };
    this.#cancelAway = clock.after(limits.storeAwayMs, () => this.#setReady(false));
    return this.#outage;
  }

  // The probes go on meanwhile, since a process that is not ready gets no sends.
  #awaitCalm(): void {
    const { clock, limits } = this.#options;
    this.#cancelCalm();
    this.#cancelCalm = clock.after(calmMs(limits), () => {
      if (this.#state === "ready") this.#end();
    });
    if (this.#probing !== undefined) return;
    this.#cancelProbe();
    this.#cancelProbe = clock.after(probeMs, () => this.#probe());
  }

  #end(): void {
    const { clock, logger } = this.#options;
    if (this.#outage === undefined) return;
    const awayMs = monotonic(clock) - this.#outage.since;
    this.#outage = undefined;
    this.#cancelProbe();
    this.#cancelAway();
    this.#cancelCalm();
    logger.info({ awayMs }, "the task store is back");
    this.#setReady(true);
  }

  #setReady(ready: boolean): void {
    if (this.#isReady === ready) return;
    this.#isReady = ready;
    for (const listener of this.#listeners) listener(ready);
  }

  #note(error: unknown): void {
    if (typeof error === "object" && error !== null) this.#loggedFailures.add(error);
  }

  #isRepeated(fields: object): boolean {
    const error: unknown = "err" in fields ? fields.err : undefined;
    if (typeof error !== "object" || error === null) return false;
    if (this.#loggedFailures.has(error)) return true;
    const cause = error instanceof StoreUnavailable ? error.cause : undefined;
    return typeof cause === "object" && cause !== null && this.#loggedFailures.has(cause);
  }
}

/** True for a store that answers reads and has no room for writes. */
function hasNoRoom(error: unknown): boolean {
  const cause = error instanceof StoreUnavailable ? error.cause : error;
  return typeof cause === "object" && cause !== null && "failure" in cause && cause.failure === "full";
}
