import type { Clock } from "../core/ports.js";
import { noop } from "../protocol/async/noop.js";
import { backoffMs } from "../protocol/async/retry.js";
import type { Logger } from "../protocol/logger.js";
import type { PushLimits } from "./limits.js";
import type { AttemptOutcome } from "./webhook-request.js";

// How many calls of one owner to one destination may run at once. A webhook that refuses an event has answered: that is a
// success.
//
// | phase     | transition | next      |                                                                            |
// |-----------|------------|-----------|----------------------------------------------------------------------------|
// | closed    | success    | closed    | the limit grows by one per round of successful calls                       |
// | closed    | failure    | closed    | the limit is halved, once per generation of calls                          |
// | closed    | failure    | open      | the `pushBreakerThreshold`th in a row; a pause begins                      |
// | open      | time       | half-open | one call may probe the destination                                         |
// | half-open | success    | closed    |                                                                            |
// | half-open | failure    | open      | the next pause is twice as long                                            |
//
// A call that began before the breaker opened may still end: its success closes the breaker too, its failure changes nothing.

export interface CircuitBreakerOptions {
  readonly origin: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: PushLimits;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Called when a pause begins. */
  readonly onPause: () => void;
  /** Called when a pause is over. */
  readonly onReady: () => void;
}

/** A call under way: its generation, and whether it probes a failing destination. */
export interface AttemptPermit {
  readonly generation: number;
  readonly isProbe: boolean;
}

const initialLimit = 4;
/** A pause lasts this part of the computed one, plus up to half at random, so that processes do not probe together. */
const jitterFloor = 0.75;

/**
 * The calls of one owner to one origin (scheme, host and port): how many there may be at once, and whether they are
 * paused. Each owner has its own, so that a failing webhook of one does not stop those of others at the same origin.
 */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  #limit: number;
  /** Calls that succeeded at the limit since it last changed. */
  #successes = 0;
  #active = 0;
  /** Raised by each decrease of the limit. Failures of calls from an older generation do not decrease it again. */
  #generation = 0;
  #failures = 0;
  #pauses = 0;
  #phase: "closed" | "open" | "half-open" = "closed";
  #isProbing = false;
  #cancel = noop;

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
    this.#limit = Math.max(1, Math.min(initialLimit, options.limits.pushCallsPerDestination));
  }

  /** Whether a call may start now. */
  get admits(): boolean {
    if (this.#phase === "closed") return this.#active < this.#limit;
    return this.#phase === "half-open" && !this.#isProbing;
  }

  /** Whether no call may start before a pause is over. */
  get isPaused(): boolean {
    return this.#phase === "open";
  }

  /** Whether the breaker has opened and no call has succeeded since. */
  get isFailing(): boolean {
    return this.#phase !== "closed";
  }

  begin(): AttemptPermit {
    const isProbe = this.#phase === "half-open";
    this.#active += 1;
    if (isProbe) this.#isProbing = true;
    return { generation: this.#generation, isProbe };
  }

  /** `undefined`: no call was made, or it was aborted. */
  end(permit: AttemptPermit, outcome: AttemptOutcome | undefined): void {
    const isFull = this.#active >= this.#limit;
    this.#active -= 1;
    if (permit.isProbe) this.#isProbing = false;
    if (outcome === undefined) return;
    if (outcome.kind !== "failed") this.#succeed(isFull);
    else if (this.#phase === "closed") this.#fail(permit);
    else if (permit.isProbe) this.#pause();
  }

  /** Cancels its timer. */
  close(): void {
    this.#cancel();
  }

  #succeed(isFull: boolean): void {
    const { logger, origin } = this.#options;
    this.#failures = 0;
    if (this.#phase === "closed") {
      if (isFull) this.#grow();
      return;
    }
    this.#cancel();
    this.#phase = "closed";
    this.#pauses = 0;
    logger.info({ origin }, "a webhook destination answers again");
  }

  #fail({ generation }: AttemptPermit): void {
    const { logger, limits, origin } = this.#options;
    this.#failures += 1;
    if (generation === this.#generation) this.#shrink();
    if (this.#failures < limits.pushBreakerThreshold) return;
    logger.warn({ origin, failures: this.#failures }, "a webhook destination fails, its calls are paused");
    this.#pause();
  }

  #grow(): void {
    this.#successes += 1;
    if (this.#successes < this.#limit || this.#limit >= this.#options.limits.pushCallsPerDestination) return;
    this.#setLimit(this.#limit + 1);
  }

  #shrink(): void {
    this.#generation += 1;
    this.#setLimit(Math.max(1, Math.floor(this.#limit / 2)));
  }

  #setLimit(limit: number): void {
    this.#limit = limit;
    this.#successes = 0;
  }

  #pause(): void {
    const { clock, limits, random, onPause, onReady } = this.#options;
    this.#phase = "open";
    this.#setLimit(1);
    this.#generation += 1;
    this.#pauses += 1;
    const pauseMs = backoffMs(this.#pauses, { firstMs: limits.pushRetryMs, maxMs: limits.pushPauseMaxMs });
    this.#cancel = clock.after(Math.min(pauseMs * (jitterFloor + random() / 2), limits.pushPauseMaxMs), () => {
      this.#phase = "half-open";
      onReady();
    });
    onPause();
  }
}
