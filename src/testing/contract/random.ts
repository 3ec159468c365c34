/** A pseudorandom generator, deterministic for a seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns an integer from `min` to `max`, inclusive. */
  int(min: number, max: number): number {
    // Steps through all 32-bit numbers and mixes the bits of each.
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mix = Math.imul(this.#state ^ (this.#state >>> 16), 0x21f0aaad);
    mix = Math.imul(mix ^ (mix >>> 15), 0x735a2d97);
    return min + (((mix ^ (mix >>> 15)) >>> 0) % (max - min + 1));
  }

  chance(oneIn: number): boolean {
    return this.int(1, oneIn) === 1;
  }

  pick<const T>(...choices: readonly [T, ...T[]]): T {
    return choices[this.int(0, choices.length - 1)] ?? choices[0];
  }

  /** Returns a value with a probability of 1 in `oneIn`, otherwise `undefined`. */
  rarely<T>(oneIn: number, draw: () => T): T | undefined {
    return this.chance(oneIn) ? draw() : undefined;
  }

  /** Returns a list of `length` values. */
  list<T>(length: number, draw: () => T): T[] {
    return Array.from({ length }, draw);
  }
}
