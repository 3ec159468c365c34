import type { A2AError } from "../protocol/errors.js";
import { exceedsShare } from "../protocol/fair-share.js";
import type { CoreLimits } from "./limits.js";
import type { Clock } from "./ports.js";

interface Waiter<T> {
  readonly turn: T;
  resolve(leave: () => void): void;
  reject(error: A2AError | undefined): void;
}

export interface TurnQueueOptions<T> {
  readonly clock: Clock;
  /**
   * The limits at the moment. `turnsPerOwner` sends of an owner may wait, further ones are refused at once. Of
   * `turnWaitMaxBytes` an owner's sends take at most half of what those of others leave.
   */
  readonly limits: () => Pick<CoreLimits, "turnWaitMs" | "turnsPerOwner" | "turnWaitMaxBytes">;
  /** Why a turn may not start now; `undefined` when it may. */
  readonly refusal: (turn: T) => A2AError | undefined;
}

/** Sends that wait until a turn may start: first in, first out for one owner, round robin between owners. */
export class TurnQueue<T> {
  readonly #options: TurnQueueOptions<T>;
  /** In round-robin order: the next owner comes first. */
  readonly #owners = new Map<string, Set<Waiter<T>>>();
  readonly #bytes = new Map<string, number>();
  #total = 0;

  constructor(options: TurnQueueOptions<T>) {
    this.#options = options;
  }

  /** Sends that wait. */
  get size(): number {
    return [...this.#owners.values()].reduce((sum, waiters) => sum + waiters.size, 0);
  }

  holds(owner: string): boolean {
    return this.#owners.has(owner);
  }

  /** `bytes`: the size of the send. */
  wait(owner: string, turn: T, bytes: number): Promise<() => void> {
    const { clock, limits, refusal } = this.#options;
    const { turnWaitMs, turnsPerOwner } = limits();
    const waiters = this.#owners.get(owner) ?? new Set<Waiter<T>>();
    if (turnWaitMs === 0 || waiters.size >= turnsPerOwner || !this.#fits(owner, bytes))
      return Promise.reject(refusal(turn));
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const cancel = clock.after(turnWaitMs, () => waiter.reject(refusal(turn)));
    const leave = (): void => {
      cancel();
      this.#count(owner, -bytes);
      waiters.delete(waiter);
      if (waiters.size === 0) this.#owners.delete(owner);
    };
    const waiter: Waiter<T> = {
      turn,
      resolve(free) {
        leave();
        resolve(free);
      },
      reject(error) {
        leave();
        reject(error);
      },
    };
    waiters.add(waiter);
    this.#count(owner, bytes);
    this.#owners.set(owner, waiters);
    return promise;
  }

  // One send of an owner may always wait.
  #fits(owner: string, bytes: number): boolean {
    const own = this.#bytes.get(owner) ?? 0;
    return own === 0 || !exceedsShare(own + bytes, this.#total + bytes, this.#options.limits().turnWaitMaxBytes);
  }

  #count(owner: string, bytes: number): void {
    this.#total += bytes;
    const own = (this.#bytes.get(owner) ?? 0) + bytes;
    if (own === 0) this.#bytes.delete(owner);
    else this.#bytes.set(owner, own);
  }

  /** Admits the waiting sends whose turn may start now. `occupy` takes the room of one turn and returns its release. */
  grant(occupy: (turn: T) => () => void): void {
    for (const [owner, waiters] of [...this.#owners]) {
      const [first] = waiters;
      if (first === undefined || this.#options.refusal(first.turn) !== undefined) continue;
      this.#owners.delete(owner);
      if (waiters.size > 1) this.#owners.set(owner, waiters);
      first.resolve(occupy(first.turn));
    }
  }

  /** Refuses every waiting send. */
  refuse(): void {
    for (const waiters of [...this.#owners.values()]) {
      for (const waiter of [...waiters]) waiter.reject(this.#options.refusal(waiter.turn));
    }
  }
}
