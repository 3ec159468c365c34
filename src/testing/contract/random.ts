/** Numbers by chance, the same ones for the same seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from `min` to `max`. */
  int(min: number, max: number): number {
    // A multiplicative walk through all 32-bit numbers, whose bits are mixed before use.
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return min + (((mixed ^ (mixed >>> 15)) >>> 0) % (max - min + 1));
  }

  chance(oneIn: number): boolean {
    return this.int(1, oneIn) === 1;
  }

  pick<const T>(...choices: readonly [T, ...T[]]): T {
    return choices[this.int(0, choices.length - 1)] ?? choices[0];
  }

  /** A value once in so many times. */
  rarely<T>(oneIn: number, draw: () => T): T | undefined {
    return this.chance(oneIn) ? draw() : undefined;
  }

  /** So many values. */
  list<T>(length: number, draw: () => T): T[] {
    return Array.from({ length }, draw);
  }
}
