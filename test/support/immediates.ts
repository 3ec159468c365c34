/** Tracks every pending `setImmediate`, so that a test can tell when all work that needs no timer is done. */
export interface Immediates {
  /** Resolves when no microtask and no immediate is left. */
  settle(): Promise<void>;
  restore(): void;
}

/** Replaces the global `setImmediate` until it is restored. */
export function watchImmediates(): Immediates {
  const real = globalThis.setImmediate;
  let pendingCount = 0;
  const setWatched = <Values extends unknown[]>(
    run: (...values: Values) => void,
    ...values: Values
  ): NodeJS.Immediate => {
    pendingCount += 1;
    return real(() => {
      pendingCount -= 1;
      run(...values);
    });
  };
  globalThis.setImmediate = Object.assign(setWatched, { __promisify__: real.__promisify__ });
  return {
    async settle() {
      do await new Promise<void>((resolve) => real(resolve));
      while (pendingCount > 0);
    },
    restore() {
      globalThis.setImmediate = real;
    },
  };
}
