import type { Clock } from "../core/ports.js";
import { pause } from "../protocol/async/pause.js";
import type { Logger } from "../protocol/logger.js";
import { type AttemptPermit, CircuitBreaker } from "./circuit-breaker.js";
import type { PushLimits } from "./limits.js";
import type { AttemptOutcome } from "./webhook-request.js";

// When calls to webhooks start. A lane holds the calls of one owner to one destination, in order of arrival. A lane with
// waiters is in one place:
//
// | place                   | until                                                                     |
// |-------------------------|---------------------------------------------------------------------------|
// | ready, at its owner     | its turn comes: round robin over owners with room, then over their lanes  |
// | blocked, at destination | a call to the destination has ended                                       |
// | held                    | the pause that the destination asked of this owner is over                |
// | paused                  | its circuit breaker admits a call (`circuit-breaker.ts`)                  |
//
// Invariant: a lane that cannot start a call does not use up a turn, and every change that could let it start one
// (`#release`, the end of a hold or a pause) schedules it again.

/** A call to schedule. */
export interface AttemptTicket extends WebhookRoute {
  /** Pause in milliseconds since a failed attempt. While the circuit breaker is open, its own pauses apply instead. */
  readonly pauseMs: number;
  /** The first that aborts ends the wait with its reason. */
  readonly signals: readonly AbortSignal[];
  /** When aborted, the call still waits for room, but not for the end of a pause. */
  readonly flushNow: AbortSignal;
}

export interface AttemptSchedulerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: PushLimits;
  /** From 0 to 1. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** A granted turn. */
interface Grant {
  readonly lane: Lane;
  readonly permit: AttemptPermit;
}

/**
 * Decides when calls to webhooks start: round robin over owners, within an owner over destinations, within both in
 * order of arrival.
 *
 * Not a `FairQueue`: that has one rank of keys, and calls wait here by two, the owner's and the destination's.
 */
export class AttemptScheduler {
  readonly #options: AttemptSchedulerOptions;
  #active = 0;
  readonly #lanes = new LaneMap((origin, lane) => this.#createBreaker(origin, lane));
  /** Owners with ready lanes and room, in round-robin order. */
  readonly #ready = new Set<LaneOwner>();
  /** Targets that may have room for blocked lanes. */
  readonly #targetsWithRoom = new Set<Destination>();

  constructor(options: AttemptSchedulerOptions) {
    this.#options = options;
  }

  /** Calls that run, or wait for their turn. */
  get due(): number {
    return this.#active + this.#lanes.waitingCount;
  }

  /** Whether a call would start at once. */
  isFree({ owner: key, origin }: WebhookRoute): boolean {
    if (this.#active >= this.#options.limits.pushCallsAtOnce) return false;
    const owner = this.#lanes.owner(key);
    if (owner !== undefined && this.#isFull(owner)) return false;
    const target = this.#lanes.target(origin);
    if (target !== undefined && !this.#hasRoom(target)) return false;
    const lane = owner?.lanes.get(origin);
    return lane === undefined || (lane.waiters.size === 0 && lane.cancelHold === undefined && lane.breaker.admits);
  }

  /** Runs a call in its turn. A string as the result means that no call was made. */
  async run<T extends string>(
    ticket: AttemptTicket,
    call: () => Promise<AttemptOutcome | T>,
  ): Promise<AttemptOutcome | T> {
    const { signals, flushNow, pauseMs } = ticket;
    if (pauseMs > 0 && this.#lanes.lane(ticket)?.breaker.isFailing !== true) {
      await pause(this.#options.clock, pauseMs, flushNow, ...signals);
    }
    const grant = await this.#turn(ticket);
    let outcome: AttemptOutcome | undefined;
    try {
      const result = await call();
      if (typeof result !== "string" && !signals.some(({ aborted }) => aborted)) outcome = result;
      return result;
    } finally {
      this.#release(grant, outcome);
    }
  }

  /** Cancels all timers. */
  close(): void {
    this.#lanes.close();
  }

  #turn(ticket: AttemptTicket): Promise<Grant> {
    const { signals, flushNow } = ticket;
    for (const signal of signals) signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Grant>();
    const lane = this.#lanes.use(ticket);
    const leave = (): void => {
      for (const signal of signals) signal.removeEventListener("abort", abort);
      flushNow.removeEventListener("abort", flush);
      lane.waiters.delete(waiter);
    };
    const waiter: Waiter = {
      flushNow,
      grant: () => {
        leave();
        resolve(this.#begin(lane));
      },
      reject: (reason) => {
        leave();
        this.#settle(lane);
        reject(reason);
      },
    };
    const abort = (): void => waiter.reject(signals.find((signal) => signal.aborted)?.reason);
    const flush = (): void => {
      if (isPaused(lane)) waiter.reject(flushNow.reason);
    };
    for (const signal of signals) signal.addEventListener("abort", abort, { once: true });
    flushNow.addEventListener("abort", flush, { once: true });
    lane.waiters.add(waiter);
    if (flushNow.aborted) flush();
    this.#schedule(lane);
    this.#pump();
    return promise;
  }

  #begin(lane: Lane): Grant {
    this.#active += 1;
    lane.active += 1;
    lane.owner.active += 1;
    lane.target.active += 1;
    return { lane, permit: lane.breaker.begin() };
  }

  #release({ lane, permit }: Grant, outcome: AttemptOutcome | undefined): void {
    const { owner, target } = lane;
    this.#active -= 1;
    lane.active -= 1;
    owner.active -= 1;
    target.active -= 1;
    lane.breaker.end(permit, outcome);
    if (outcome?.kind === "failed" && outcome.retryAfterMs !== undefined) this.#hold(lane, outcome.retryAfterMs);
    this.#targetsWithRoom.add(target);
    if (owner.ready.size > 0) this.#ready.add(owner);
    this.#schedule(lane);
    this.#settle(lane);
    this.#pump();
  }

  #schedule(lane: Lane): void {
    const { owner, target, breaker, waiters, cancelHold } = lane;
    if (waiters.size === 0 || cancelHold !== undefined || !breaker.admits || target.blocked.has(lane)) return;
    owner.ready.add(lane);
    if (!this.#isFull(owner)) this.#ready.add(owner);
  }

  #pump(): void {
    const { pushCallsAtOnce } = this.#options.limits;
    for (;;) {
      // First, so that lanes that were blocked get their turn among the ready ones.
      const isMore = this.#unblock();
      while (this.#active < pushCallsAtOnce && this.#grantNext());
      if (!isMore || this.#active >= pushCallsAtOnce) return;
    }
  }

  // Makes one lane of each destination with room ready. A lane whose owner is full takes none of that room.
  #unblock(): boolean {
    for (const target of [...this.#targetsWithRoom]) {
      const [lane] = target.blocked;
      if (lane === undefined || !this.#hasRoom(target)) {
        this.#targetsWithRoom.delete(target);
      } else {
        target.blocked.delete(lane);
        this.#schedule(lane);
      }
    }
    return this.#targetsWithRoom.size > 0;
  }

  // Gives the next owner a turn. Returns false when no owner is ready.
  #grantNext(): boolean {
    const [owner] = this.#ready;
    if (owner === undefined) return false;
    this.#ready.delete(owner);
    for (const lane of owner.ready) {
      owner.ready.delete(lane);
      if (!lane.breaker.admits) continue;
      if (this.#hasRoom(lane.target)) {
        const [waiter] = lane.waiters;
        waiter?.grant();
        this.#schedule(lane);
        break;
      }
      lane.target.blocked.add(lane);
    }
    if (owner.ready.size > 0 && !this.#isFull(owner)) this.#ready.add(owner);
    return true;
  }

  // The destination asked for a pause, which applies to this owner's calls alone.
  #hold(lane: Lane, ms: number): void {
    const { clock, limits } = this.#options;
    const holdMs = Math.min(ms, limits.pushPauseMaxMs);
    const until = clock.now() + holdMs;
    if (holdMs <= 0 || (lane.cancelHold !== undefined && until <= lane.heldUntil)) return;
    lane.cancelHold?.();
    lane.heldUntil = until;
    lane.owner.ready.delete(lane);
    lane.target.blocked.delete(lane);
    lane.cancelHold = clock.after(holdMs, () => {
      lane.cancelHold = undefined;
      this.#schedule(lane);
      this.#settle(lane);
      this.#pump();
    });
    rejectFlushed(lane);
  }

  #isFull({ active }: LaneOwner): boolean {
    return active >= this.#options.limits.pushCallsPerOwner;
  }

  #hasRoom({ active }: Destination): boolean {
    return active < this.#options.limits.pushCallsPerDestination;
  }

  #createBreaker(origin: string, findLane: () => Lane): CircuitBreaker {
    return new CircuitBreaker({
      ...this.#options,
      origin,
      random: this.#options.random ?? Math.random,
      onPause: () => {
        const lane = findLane();
        lane.owner.ready.delete(lane);
        rejectFlushed(lane);
      },
      onReady: () => {
        this.#schedule(findLane());
        this.#pump();
      },
    });
  }

  #settle(lane: Lane): void {
    this.#lanes.settle(lane);
    if (lane.target.blocked.size === 0) this.#targetsWithRoom.delete(lane.target);
    if (lane.owner.ready.size === 0) this.#ready.delete(lane.owner);
  }
}

/** Idle lanes whose circuit breaker is kept for their next call. */
const idleMax = 1000;

/** The lanes by owner and origin, with their owners and targets. */
export class LaneMap {
  readonly #createBreaker: (origin: string, lane: () => Lane) => Lane["breaker"];
  readonly #owners = new Map<string, LaneOwner>();
  readonly #targets = new Map<string, Destination>();
  /** Lanes without calls, least recently used first. */
  readonly #idle = new Set<Lane>();

  constructor(createBreaker: (origin: string, lane: () => Lane) => Lane["breaker"]) {
    this.#createBreaker = createBreaker;
  }

  /** Calls that wait. */
  get waitingCount(): number {
    const lanes = [...this.#owners.values()].flatMap((owner) => [...owner.lanes.values()]);
    return lanes.reduce((sum, { waiters }) => sum + waiters.size, 0);
  }

  owner(key: string): LaneOwner | undefined {
    return this.#owners.get(key);
  }

  target(origin: string): Destination | undefined {
    return this.#targets.get(origin);
  }

  lane({ owner, origin }: WebhookRoute): Lane | undefined {
    return this.#owners.get(owner)?.lanes.get(origin);
  }

  /** The lane of a call, which is in use from now on. */
  use({ owner: key, origin }: WebhookRoute): Lane {
    const owner: LaneOwner = this.#owners.get(key) ?? { key, active: 0, lanes: new Map(), ready: new Set() };
    const existing = owner.lanes.get(origin);
    if (existing !== undefined) {
      this.#idle.delete(existing);
      return existing;
    }
    const target: Destination = this.#targets.get(origin) ?? {
      origin,
      active: 0,
      lanes: new Set(),
      blocked: new Set(),
    };
    const breaker = this.#createBreaker(origin, () => lane);
    const lane: Lane = { owner, target, breaker, waiters: new Set(), active: 0, cancelHold: undefined, heldUntil: 0 };
    this.#owners.set(key, owner);
    this.#targets.set(origin, target);
    owner.lanes.set(origin, lane);
    target.lanes.add(lane);
    return lane;
  }

  /** Notes that a lane may no longer be in use. */
  settle(lane: Lane): void {
    const { owner, target, waiters, active, cancelHold } = lane;
    if (waiters.size > 0) return;
    owner.ready.delete(lane);
    target.blocked.delete(lane);
    if (active > 0 || cancelHold !== undefined) return;
    this.#idle.add(lane);
    const [oldest] = this.#idle;
    if (this.#idle.size > idleMax && oldest !== undefined) this.#drop(oldest);
  }

  /** Cancels all timers. */
  close(): void {
    for (const { lanes } of this.#targets.values()) {
      for (const { breaker, cancelHold } of lanes) {
        breaker.close();
        cancelHold?.();
      }
    }
  }

  #drop(lane: Lane): void {
    const { owner, target, breaker } = lane;
    breaker.close();
    this.#idle.delete(lane);
    owner.lanes.delete(target.origin);
    if (owner.lanes.size === 0) this.#owners.delete(owner.key);
    target.lanes.delete(lane);
    if (target.lanes.size === 0) this.#targets.delete(target.origin);
  }
}

/** The owner of a call and its destination. */
export interface WebhookRoute {
  readonly owner: string;
  /** Scheme, host and port. */
  readonly origin: string;
}

/** A call that waits for its turn. */
interface Waiter {
  readonly grant: () => void;
  readonly reject: (reason: unknown) => void;
  /** When aborted, the call still waits for room, but not for the end of a pause. */
  readonly flushNow: AbortSignal;
}

/** Calls of one owner to one destination, in order of arrival. */
interface Lane {
  readonly owner: LaneOwner;
  readonly target: Destination;
  readonly breaker: CircuitBreaker;
  readonly waiters: Set<Waiter>;
  active: number;
  /** Cancels the pause that the destination asked this owner for. `undefined`: there is none. */
  cancelHold: (() => void) | undefined;
  /** When that pause ends, in milliseconds since the epoch. */
  heldUntil: number;
}

/** The calls of one owner. */
interface LaneOwner {
  readonly key: string;
  active: number;
  readonly lanes: Map<string, Lane>;
  /** Lanes that may go next, in round-robin order. */
  readonly ready: Set<Lane>;
}

/** The calls of all owners to one destination, which share only the limit of concurrent calls. */
interface Destination {
  readonly origin: string;
  active: number;
  readonly lanes: Set<Lane>;
  /** Lanes that wait until the destination has room, in round-robin order. */
  readonly blocked: Set<Lane>;
}

/** Whether no call of a lane may start before a pause is over. */
function isPaused({ breaker, cancelHold }: Lane): boolean {
  return cancelHold !== undefined || breaker.isPaused;
}

/** Rejects the waiters of a paused lane that do not wait for the end of a pause. */
function rejectFlushed({ waiters }: Lane): void {
  for (const { flushNow, reject } of [...waiters]) if (flushNow.aborted) reject(flushNow.reason);
}
