/** Pseudo-random numbers from a seed. */
export interface Random {
  /** From 0 to 1, excluding 1. */
  next(): number;
  chance(probability: number): boolean;
  /** An integer, both bounds included. */
  int(from: number, to: number): number;
  pick<T>(list: readonly [T, ...T[]]): T;
  /** An independent source, so that the draws of one part of the world do not affect another. */
  fork(): Random;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  // Neighboring seeds should start differently.
  next();
  const int = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  return {
    next,
    int,
    chance: (probability) => next() < probability,
    pick: (list) => list[int(0, list.length - 1)] ?? list[0],
    fork: () => createRandom(int(0, 2 ** 31)),
  };
}
