// Usage of callers' rate limits, shared by the processes on a store.

/** A claim on what is left of a limit in its current window. */
export interface RateDraw {
  /** A hash of the caller and the limit. The draws of one call have different keys. */
  readonly key: string;
  /** Length of the windows in milliseconds. */
  readonly windowMs: number;
  /** Offset of the windows: they begin so many milliseconds before the multiples of `windowMs` since the epoch. */
  readonly shiftMs: number;
  /** Size of the limit in one window. */
  readonly limit: number;
  /** How much the caller needs. More is granted while much is left: a sixteenth of it. */
  readonly need: number;
  /** How much was used already: counted whether or not so much is left. */
  readonly used: number;
}

/** The part of a limit that a process may use until its window ends, without asking again. */
export interface RateGrant {
  /** The key of the draw. */
  readonly key: string;
  /** Less than the need when no more is left, down to 0. */
  readonly granted: number;
  /** How much the window has left for others. */
  readonly left: number;
  /** Time until the window ends, by the store's clock. */
  readonly endsInMs: number;
}

/** Limits that processes share. */
export interface RateStore {
  /** Grants from the current windows, at once for all draws. */
  draw(draws: readonly RateDraw[]): Promise<readonly RateGrant[]>;
}
