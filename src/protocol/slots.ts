import type { A2AError } from "./errors.js";

/** One of a limited number that a turn or a stream holds while it lasts. */
export interface Slot {
  /** Slots with one key are counted together. */
  readonly key: string;
  readonly max: number;
  /** The error for a caller that gets no slot. */
  refusal(): A2AError;
}

/** Counts the slots that are taken, by key. */
export class Slots {
  readonly #counts = new Map<string, number>();

  /** Why one of these slots cannot be taken; `undefined` when all can. */
  refusal(slots: readonly Slot[]): A2AError | undefined {
    for (const slot of slots) if ((this.#counts.get(slot.key) ?? 0) >= slot.max) return slot.refusal();
    return undefined;
  }

  /** Takes all of them, full or not. */
  take(slots: readonly Slot[]): void {
    this.#add(slots, 1);
  }

  /** Frees slots that were taken. Call it once. */
  free(slots: readonly Slot[]): void {
    this.#add(slots, -1);
  }

  #add(slots: readonly Slot[], change: 1 | -1): void {
    for (const { key } of slots) {
      const count = (this.#counts.get(key) ?? 0) + change;
      if (count === 0) this.#counts.delete(key);
      else this.#counts.set(key, count);
    }
  }
}
