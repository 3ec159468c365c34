import type { CircuitBreaker } from "./circuit-breaker.js";

/** The owner of a call and its destination. */
export interface CallRoute {
  readonly owner: string;
  /** Scheme, host and port. */
  readonly origin: string;
}

/** A call that waits for its turn. */
export interface Waiter {
  readonly grant: () => void;
  readonly reject: (reason: unknown) => void;
  /** When aborted, the call still waits for room, but not for the end of a pause. */
  readonly hurry: AbortSignal;
}

/** Calls of one owner to one destination, in order of arrival. */
export interface Lane {
  readonly owner: CallOwner;
  readonly target: CallTarget;
  readonly breaker: CircuitBreaker;
  readonly waiters: Set<Waiter>;
  active: number;
  /** Cancels the pause that the destination asked this owner for. `undefined`: there is none. */
  cancelHold: (() => void) | undefined;
  /** When that pause ends, in milliseconds since the epoch. */
  heldUntil: number;
}

/** The calls of one owner. */
export interface CallOwner {
  readonly key: string;
  active: number;
  readonly lanes: Map<string, Lane>;
  /** Lanes that may go next, in round-robin order. */
  readonly ready: Set<Lane>;
}

/** The calls of all owners to one destination, which share only the limit of concurrent calls. */
export interface CallTarget {
  readonly origin: string;
  active: number;
  readonly lanes: Set<Lane>;
  /** Lanes that wait until the destination has room, in round-robin order. */
  readonly blocked: Set<Lane>;
}

/** Whether no call of a lane may start before a pause is over. */
export function isPaused({ breaker, cancelHold }: Lane): boolean {
  return cancelHold !== undefined || breaker.isPaused;
}

/** Rejects the waiters of a paused lane that do not wait for the end of a pause. */
export function rejectHurried({ waiters }: Lane): void {
  for (const { hurry, reject } of [...waiters]) if (hurry.aborted) reject(hurry.reason);
}
