import type { A2AError } from "../errors.js";

/** A place that a turn or a stream holds while it lasts. */
export interface Place {
  /** Places with one key are counted together. */
  readonly key: string;
  readonly max: number;
  /** The error for a caller that gets no place. */
  refusal(): A2AError;
}

/** Counts the places in use. */
export interface Places {
  /** Why one of these places cannot be taken; `undefined` when all can. */
  refusal(places: readonly Place[]): A2AError | undefined;
  /** Takes all of them, full or not. */
  take(places: readonly Place[]): void;
  /** Returns places that were taken. Call it once. */
  leave(places: readonly Place[]): void;
}

export function createPlaces(): Places {
  const counts = new Map<string, number>();
  const add = (places: readonly Place[], change: 1 | -1): void => {
    for (const { key } of places) {
      const count = (counts.get(key) ?? 0) + change;
      if (count === 0) counts.delete(key);
      else counts.set(key, count);
    }
  };
  return {
    refusal(places) {
      for (const place of places) if ((counts.get(place.key) ?? 0) >= place.max) return place.refusal();
      return undefined;
    },
    take: (places) => add(places, 1),
    leave: (places) => add(places, -1),
  };
}
