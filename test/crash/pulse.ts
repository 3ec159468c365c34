/** Counts events and lets a waiter wait for a count. */
export interface Pulse {
  readonly count: number;
  beat(): void;
  /** Resolves at the beat with this number. */
  reached(count: number): Promise<void>;
}

export function createPulse(): Pulse {
  let count = 0;
  let waiting: { readonly at: number; readonly resolve: () => void } | undefined;
  return {
    get count() {
      return count;
    },
    beat() {
      count++;
      if (waiting !== undefined && count >= waiting.at) waiting.resolve();
    },
    reached: (at) =>
      new Promise((resolve) => {
        waiting = { at, resolve };
        if (count >= at) resolve();
      }),
  };
}
