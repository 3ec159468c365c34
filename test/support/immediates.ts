/** Tracks every pending `setImmediate`, so that a test can tell when all work that needs no timer is done. */
export interface Immediates {
  /** Resolves when no microtask and no immediate is left. */
  settle(): Promise<void>;
  restore(): void;
}

/** Replaces the global `setImmediate` until it is restored. */
export function watchImmediates(): Immediates {
  const real = globalThis.setImmediate;
  let waiting = 0;
  const watched = <Values extends unknown[]>(run: (...values: Values) => void, ...values: Values): NodeJS.Immediate => {
    waiting += 1;
    return real(() => {
      waiting -= 1;
      run(...values);
    });
  };
  globalThis.setImmediate = Object.assign(watched, { __promisify__: real.__promisify__ });
  return {
    async settle() {
      do await new Promise<void>((resolve) => real(resolve));
      while (waiting > 0);
    },
    restore() {
      globalThis.setImmediate = real;
    },
  };
}
