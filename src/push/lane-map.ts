import type { CallOwner, CallRoute, CallTarget, Lane } from "./lane.js";

/** Targets without lanes whose state is kept. */
const idleMax = 1000;

/** The lanes in use, with their owners and targets. */
export class LaneMap {
  readonly #createTarget: (origin: string) => CallTarget;
  readonly #owners = new Map<string, CallOwner>();
  readonly #targets = new Map<string, CallTarget>();
  /** Targets without lanes, least recently used first. */
  readonly #idle = new Set<CallTarget>();

  constructor(createTarget: (origin: string) => CallTarget) {
    this.#createTarget = createTarget;
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

  of({ owner: key, origin }: CallRoute): Lane {
    const owner: CallOwner = this.#owners.get(key) ?? { key, active: 0, lanes: new Map(), ready: new Set() };
    const existing = owner.lanes.get(origin);
    if (existing !== undefined) return existing;
    const target = this.#targets.get(origin) ?? this.#createTarget(origin);
    const lane: Lane = { owner, target, waiters: new Set(), active: 0, cancelHold: undefined, heldUntil: 0 };
    this.#owners.set(key, owner);
    this.#targets.set(origin, target);
    owner.lanes.set(origin, lane);
    target.lanes.add(lane);
    this.#idle.delete(target);
    return lane;
  }

  /** Drops a lane that is no longer used, and returns a target dropped for it. */
  drop(lane: Lane): CallTarget | undefined {
    const { owner, target, waiters, active, cancelHold } = lane;
    if (waiters.size > 0) return undefined;
    owner.ready.delete(lane);
    target.blocked.delete(lane);
    if (active > 0 || cancelHold !== undefined) return undefined;
    owner.lanes.delete(target.destination.origin);
    if (owner.lanes.size === 0) this.#owners.delete(owner.key);
    target.lanes.delete(lane);
    return target.lanes.size === 0 ? this.#rest(target) : undefined;
  }

  /** Cancels all timers. */
  close(): void {
    for (const { destination, lanes } of this.#targets.values()) {
      destination.close();
      for (const lane of lanes) lane.cancelHold?.();
    }
  }

  // The state of a destination is kept for its next call, within bounds.
  #rest(target: CallTarget): CallTarget | undefined {
    this.#idle.add(target);
    const [oldest] = this.#idle;
    if (this.#idle.size <= idleMax || oldest === undefined) return undefined;
    oldest.destination.close();
    this.#idle.delete(oldest);
    this.#targets.delete(oldest.destination.origin);
    return oldest;
  }
}
