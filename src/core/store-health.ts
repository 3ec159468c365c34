import { monotonic } from "../protocol/async/clock.js";
import { noop } from "../protocol/async/noop.js";
import { isObject } from "../protocol/kinds.js";
import type { Logger } from "../protocol/logger.js";
import type { CoreLimits } from "./limits.js";
import type { Clock, MethodKind } from "./ports.js";
import { isStoreAnswer, NoAnswer, StoreUnavailable, Unanswered, waitForStore } from "./store-failure.js";

// Whether the store takes writes: the one place that knows, since every call of the store is watched.
//
// A failed call alone may be about one task or one connection. It causes a probe, a small write. If that fails too, or
// takes longer than `storeWaitMs`, the store is away. Probes then continue until one succeeds. A call that fails for want
// of room, or because the database file was moved, needs no probe to confirm it.
//
// | state | transition | next  |                                                                        |
// |-------|------------|-------|------------------------------------------------------------------------|
// | ready | failed     | doubt | a call failed or took too long; a probe starts                         |
// | ready, doubt | full | full | a call found no room                                                   |
// | doubt, away, full | probe fails | away, full | the next probe follows after `probeMs`                  |
// | doubt, away | answered | ready | a probe succeeded in time, or another write                         |
// | full  | answered   | ready | a probe found room                                                     |
// | any   | moved      | lost  | a call found that writes would be lost; only a restart ends it         |
//
// The log and readiness follow outages, which are longer. An outage begins when the store is away, full or lost. It also
// begins when calls fail although probes may succeed:
//
// - A send got no answer in time. The outage ends once writes have been in time for `recoveryMs`. Otherwise the outages of a
//   store of changing speed would begin and end every few seconds.
// - A call failed because the database is damaged, unreadable or not writable in parts that no probe touches. The process is
//   not ready once such calls have come for `storeOutageMs`. Successful probes prove nothing then, and a process that is not
//   ready gets no calls. So the outage ends `repairedMs` after the last such call.
//
// In all other cases it ends with the state `ready`.
//
// A probe renews the lease of the process; a full store is probed with a record that needs room. Sends, readiness and
// the log ask this object. On SQLite each renewal also checks that the files are still in place
// (`store/sqlite/file-watch.ts`).

/** Pause between two probes. Refused callers get it as the time to wait. */
const probeMs = 1000;
/** How long writes must be in time before an outage with late ones is over. More than a late probe and the pause before it. */
const recoveryMs = ({ storeWaitMs }: StoreHealthOptions["limits"]): number => storeWaitMs + 3 * probeMs;

/** How long no call may have failed before an outage is over in which probes succeeded, in milliseconds. */
const repairedMs = 600_000;

/** Minimum time between two records of late calls outside an outage. */
const lateLogPauseMs = 60_000;

type State = "ready" | "doubt" | "away" | "full" | "lost";

/** The meaning of an error's `failure` for the store. A call that fails in another way only causes a probe. */
const meanings: Readonly<Record<string, "full" | "lost" | "broken">> = {
  full: "full",
  moved: "lost",
  damaged: "broken",
  unusable: "broken",
  forbidden: "broken",
  readOnly: "broken",
};

/** The records of an outage. Each is written once. */
const records = {
  away: (logger: Logger, err: unknown) => logger.error({ err }, "the task store is away"),
  full: (logger: Logger, err: unknown) => logger.error({ err }, "the task store is full"),
  lost: (logger: Logger, err: unknown) =>
    logger.error({ err }, "the task store cannot be used any more: it needs a restart of this process"),
  broken: (logger: Logger, err: unknown) =>
    logger.error({ err }, "the task store fails calls, although it takes small writes"),
  late: (logger: Logger, err: unknown) => logger.warn({ err }, "the task store answers too late for sends"),
};

export interface StoreHealthOptions {
  readonly clock: Clock;
  readonly limits: Pick<CoreLimits, "storeRetryMs" | "storeWaitMs" | "storeOutageMs">;
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
  /** Whether the database failed calls while probes succeeded. */
  isBroken: boolean;
  /** Records of it that were logged already. */
  readonly logged: Set<keyof typeof records>;
}

/** Whether the store takes writes: learned from all calls, and from probes once one has failed. */
export class StoreHealth {
  readonly #options: StoreHealthOptions;
  #probes: StoreProbes | undefined;
  #state: State = "ready";
  #cause: unknown;
  #outage: Outage | undefined;
  /** The error of a call that the database failed, until a probe has shown whether it fails all calls. */
  #suspicion: unknown;
  #probing: Promise<void> | undefined;
  #confirmation: Promise<boolean> | undefined;
  #cancelProbe = noop;
  #cancelAway: (() => void) | undefined;
  #cancelRecovery = noop;
  #closed = false;
  #isReady = true;
  /** The first call that was late while the store was not in doubt. */
  #lateCall: unknown;
  /** No late call is logged again until then. */
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
    return this.#state === "away" || this.#state === "full" || this.#state === "lost";
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
  observe<T>(call: Promise<T>, kind: MethodKind): Promise<T> {
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
    if (isStoreAnswer(error) || this.#closed || this.#probes === undefined) return;
    if (this.#state !== "ready") this.#note(error);
    const meaning = findMeaning(error);
    if (this.#state === "lost") return;
    if (meaning === "lost") return this.#markLost(error);
    if (error instanceof Unanswered || error instanceof NoAnswer) this.#noteLate(error);
    if (meaning === "full") return this.#markAway(error, "full");
    if (meaning === "broken") this.#suspect(error);
    this.#startProbing();
  };

  /**
   * Takes note of a call, other than of a send, that did not answer in time. It may be one long read: only a probe shows
   * whether the store is away.
   */
  noteLateCall(error: unknown): void {
    if (this.#closed || this.#probes === undefined || this.#state !== "ready" || this.#probing !== undefined) return;
    this.#lateCall = error;
    this.#startProbing();
  }

  /** Calls back when the store has been away for `storeOutageMs`, and when it is back after that. */
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
    this.#stopAwayTimer();
    this.#cancelRecovery();
    await this.#probing;
  }

  readonly #onAnswer = (): void => {
    // An earlier answer says nothing about later failures.
    if (this.#state !== "full" && this.#suspicion === undefined) this.#markReady();
  };

  async #confirm(): Promise<boolean> {
    if (this.away) return false;
    try {
      if (this.#probes !== undefined) await waitForStore(this.#options, this.#probes.write());
      return true;
    } catch (error) {
      this.noteFailure(error);
      return isStoreAnswer(error);
    }
  }

  // The calls of a probe also fail.
  #startProbing(): void {
    if (this.#state !== "ready" || this.#probing !== undefined) return;
    this.#state = "doubt";
    this.#probe();
  }

  #probe(): void {
    this.#cancelProbe();
    this.#probing ??= this.#probeOnce().finally(() => {
      this.#probing = undefined;
      if (!this.#closed && this.#state !== "lost" && (this.#state !== "ready" || this.#outage !== undefined)) {
        this.#cancelProbe = this.#options.clock.after(probeMs, () => this.#probe());
      }
    });
  }

  async #probeOnce(): Promise<void> {
    const probes = this.#probes;
    if (probes === undefined) return;
    const state = this.#state;
    const isFull = state === "full";
    try {
      if (state === "ready") await waitForStore(this.#options, probes.writeTask());
      else await waitForStore(this.#options, isFull ? probes.writeLarge() : probes.write());
      // It may have become full meanwhile.
      if (isFull || this.#state !== "full") this.#markReady();
    } catch (error) {
      if (isStoreAnswer(error)) this.#markReady();
      else if (state === "ready") this.noteFailure(error);
      else if (findMeaning(error) === "lost") this.#markLost(error);
      // Other writes were answered meanwhile: the probe was slow, and the store is there.
      else if (this.#state !== "ready")
        this.#markAway(error, findMeaning(error) === "full" || this.#state === "full" ? "full" : "away");
    }
  }

  #suspect(error: unknown): void {
    this.#note(error);
    if (this.away) return;
    if (this.#outage?.isBroken === true) this.#markBroken(error);
    else this.#suspicion ??= error;
  }

  #markBroken(error: unknown): void {
    const { clock, limits } = this.#options;
    const outage = this.#begin();
    outage.isBroken = true;
    this.#log("broken", error);
    if (monotonic(clock) - outage.since >= limits.storeOutageMs) this.#setReady(false);
    this.#startRecoveryTimer();
  }

  #markLost(error: unknown): void {
    if (this.#state === "lost") return;
    this.#state = "lost";
    this.#cause = error;
    this.#note(error);
    this.#begin();
    this.#log("lost", error);
    this.#cancelProbe();
    this.#stopAwayTimer();
    this.#cancelRecovery();
    // Waiting does not help: the store does not come back.
    this.#setReady(false);
  }

  #noteLate(error: unknown): void {
    this.#begin().late ??= error;
    this.#startAwayTimer();
    this.#startRecoveryTimer();
  }

  #markAway(error: unknown, state: "away" | "full"): void {
    if (this.#closed || this.#state === "lost") return;
    const { clock } = this.#options;
    const wasAway = this.away;
    this.#state = state;
    this.#note(error);
    if (wasAway) return;
    this.#cause = error;
    const outage = this.#begin();
    if (error instanceof Unanswered) outage.late ??= error;
    // Probes fail now, so they will show when the outage is over.
    outage.isBroken = false;
    this.#suspicion = undefined;
    this.#log(state, error);
    this.#startAwayTimer();
    if (this.#probing === undefined) this.#cancelProbe = clock.after(probeMs, () => this.#probe());
  }

  #markReady(): void {
    if (this.#state === "lost") return;
    const suspicion = this.#suspicion;
    this.#suspicion = undefined;
    const wasReady = this.#state === "ready";
    this.#state = "ready";
    if (suspicion !== undefined) this.#markBroken(suspicion);
    if (wasReady) return;
    const outage = this.#outage;
    if (outage === undefined || (outage.late === undefined && !outage.isBroken)) {
      this.#cancelProbe();
      this.#logLateCall();
      this.#end();
      return;
    }
    if (outage.late === undefined) this.#stopAwayTimer();
    // It answers probes, so nothing else names the cause.
    else if (outage.logged.size === 0) this.#log("late", outage.late);
    this.#startRecoveryTimer();
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
    this.#outage ??= { since: monotonic(this.#options.clock), isBroken: false, logged: new Set() };
    return this.#outage;
  }

  #log(record: keyof typeof records, error: unknown): void {
    const { logged } = this.#begin();
    if (logged.has(record)) return;
    logged.add(record);
    records[record](this.#options.logger, error);
  }

  #startAwayTimer(): void {
    const { clock, limits } = this.#options;
    this.#cancelAway ??= clock.after(limits.storeOutageMs, () => this.#setReady(false));
  }

  #stopAwayTimer(): void {
    this.#cancelAway?.();
    this.#cancelAway = undefined;
  }

  // The probes go on meanwhile, since a process that is not ready gets no sends.
  #startRecoveryTimer(): void {
    const { clock, limits } = this.#options;
    this.#cancelRecovery();
    const ms = this.#outage?.isBroken === true ? repairedMs : recoveryMs(limits);
    this.#cancelRecovery = clock.after(ms, () => {
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
    this.#stopAwayTimer();
    this.#cancelRecovery();
    logger.info({ awayMs }, "the task store is back");
    this.#setReady(true);
  }

  #setReady(ready: boolean): void {
    if (this.#isReady === ready) return;
    this.#isReady = ready;
    for (const listener of this.#listeners) listener(ready);
  }

  #note(error: unknown): void {
    if (isObject(error)) this.#loggedFailures.add(error);
  }

  #isRepeated(fields: object): boolean {
    const error: unknown = "err" in fields ? fields.err : undefined;
    if (!isObject(error)) return false;
    if (this.#loggedFailures.has(error)) return true;
    const cause = error instanceof StoreUnavailable ? error.cause : undefined;
    return isObject(cause) && this.#loggedFailures.has(cause);
  }
}

function findMeaning(error: unknown): (typeof meanings)[string] | undefined {
  const cause = error instanceof StoreUnavailable ? error.cause : error;
  if (!isObject(cause) || !("failure" in cause)) return undefined;
  return meanings[String(cause.failure)];
}
