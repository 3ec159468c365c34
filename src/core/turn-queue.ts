import type { A2AError } from "../protocol/errors.js";
import type { CoreLimits } from "./limits.js";
import type { Clock } from "./ports.js";

interface Waiter {
  resolve(leave: () => void): void;
  reject(error: A2AError | undefined): void;
}

export interface TurnQueueOptions {
  readonly clock: Clock;
  /**
   * The limits at the moment. `turnsPerOwner` sends of an owner may wait, further ones are refused at once. Of
   * `turnWaitMaxBytes` an owner's sends take at most half of what those of others leave.
   */
  readonly limits: () => Pick<CoreLimits, "turnWaitMs" | "turnsPerOwner" | "turnWaitMaxBytes">;
  /** Why no turn of an owner may start now; `undefined` when one may. */
  readonly refusal: (owner: string) => A2AError | undefined;
}

/** Sends that wait until a turn may start: first in, first out for one owner, round robin between owners. */
export class TurnQueue {
  readonly #options: TurnQueueOptions;
  /** In round-robin order: the next owner comes first. */
  readonly #owners = new Map<string, Set<Waiter>>();
  readonly #bytes = new Map<string, number>();
  #total = 0;

  constructor(options: TurnQueueOptions) {
    this.#options = options;
  }

  holds(owner: string): boolean {
    return this.#owners.has(owner);
  }

  /** `bytes`: the size of the send. */
  wait(owner: string, bytes: number): Promise<() => void> {
    const { clock, limits, refusal } = this.#options;
    const { turnWaitMs, turnsPerOwner } = limits();
    const waiters = this.#owners.get(owner) ?? new Set<Waiter>();
    if (turnWaitMs === 0 || waiters.size >= turnsPerOwner || !this.#fits(owner, bytes))
      return Promise.reject(refusal(owner));
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const cancel = clock.after(turnWaitMs, () => waiter.reject(refusal(owner)));
    const leave = (): void => {
      cancel();
      this.#count(owner, -bytes);
      waiters.delete(waiter);
      if (waiters.size === 0) this.#owners.delete(owner);
    };
    const waiter: Waiter = {
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
    return own === 0 || own + bytes <= (this.#options.limits().turnWaitMaxBytes - (this.#total - own)) / 2;
  }

  #count(owner: string, bytes: number): void {
    this.#total += bytes;
    const own = (this.#bytes.get(owner) ?? 0) + bytes;
    if (own === 0) this.#bytes.delete(owner);
    else this.#bytes.set(owner, own);
  }

  /** Admits the waiting sends whose turn may start now. `occupy` takes the room of one turn and returns its release. */
  grant(occupy: (owner: string) => () => void): void {
    for (const [owner, waiters] of [...this.#owners]) {
      const [first] = waiters;
      if (first === undefined || this.#options.refusal(owner) !== undefined) continue;
      this.#owners.delete(owner);
      if (waiters.size > 1) this.#owners.set(owner, waiters);
      first.resolve(occupy(owner));
    }
  }

  /** Refuses every waiting send. */
  refuse(): void {
    for (const [owner, waiters] of [...this.#owners]) {
      for (const waiter of [...waiters]) waiter.reject(this.#options.refusal(owner));
    }
  }
}
