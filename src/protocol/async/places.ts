import type { A2AError } from "../errors.js";

/** A place that a turn or a stream holds while it lasts. */
export interface Place {
  /** Places with one key are counted together. */
  readonly key: string;
  readonly max: number;
  /** The error for a caller that gets no place. */
  refusal(): A2AError;
}

/** Counts who holds places. */
export interface Places {
  /** Why one of these places cannot be taken; `undefined` when all can. */
  refusal(places: readonly Place[]): A2AError | undefined;
  /** Takes all of them, full or not. */
  take(places: readonly Place[]): void;
  /** Gives back what was taken, once. */
  leave(places: readonly Place[]): void;
}

export function createPlaces(): Places {
  const held = new Map<string, number>();
  const add = (places: readonly Place[], change: 1 | -1): void => {
    for (const { key } of places) {
      const now = (held.get(key) ?? 0) + change;
      if (now === 0) held.delete(key);
      else held.set(key, now);
    }
  };
  return {
    refusal(places) {
      for (const place of places) if ((held.get(place.key) ?? 0) >= place.max) return place.refusal();
      return undefined;
    },
    take: (places) => add(places, 1),
    leave: (places) => add(places, -1),
  };
}
