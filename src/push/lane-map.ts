import type { CallOwner, CallRoute, CallTarget, Lane } from "./lane.js";

/** Idle lanes whose circuit breaker is kept for their next call. */
const idleMax = 1000;

/** The lanes by owner and origin, with their owners and targets. */
export class LaneMap {
  readonly #createBreaker: (origin: string, lane: () => Lane) => Lane["breaker"];
  readonly #owners = new Map<string, CallOwner>();
  readonly #targets = new Map<string, CallTarget>();
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

  owner(key: string): CallOwner | undefined {
    return this.#owners.get(key);
  }

  target(origin: string): CallTarget | undefined {
    return this.#targets.get(origin);
  }

  lane({ owner, origin }: CallRoute): Lane | undefined {
    return this.#owners.get(owner)?.lanes.get(origin);
  }

  /** The lane of a call, which is in use from now on. */
  use({ owner: key, origin }: CallRoute): Lane {
    const owner: CallOwner = this.#owners.get(key) ?? { key, active: 0, lanes: new Map(), ready: new Set() };
    const existing = owner.lanes.get(origin);
    if (existing !== undefined) {
      this.#idle.delete(existing);
      return existing;
    }
    const target: CallTarget = this.#targets.get(origin) ?? { origin, active: 0, lanes: new Set(), blocked: new Set() };
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
