import type { PortCalls } from "./calls.js";
import type { Head } from "./log.js";

// Which processes are alive, and what they have left behind.

/** A place among the parked tasks: that of one whose head has these, whether it still stands there or not. */
export interface DueCursor {
  readonly wakeAt: number;
  readonly key: number;
}

/** The processes that work on a store, by names that expire. */
export interface Instances {
  /** Registers an instance, or renews it: it expires `ttlMs` from now by the store's clock. */
  renew(instance: string, ttlMs: number): Promise<void>;
  /** Ends an instance at once. */
  retire(instance: string): Promise<void>;
  /** Heads of an agent's tasks whose holder has expired, the lowest key first, at most `limit`. `after`: a key before theirs. */
  orphans(agent: string, limit: number, after?: number): Promise<readonly Head[]>;
  /**
   * Heads of an agent's parked tasks whose time has come by the store's clock, the earliest first, of one time the lower
   * key, at most `limit`. `after`: those behind this place.
   */
  due(agent: string, limit: number, after?: DueCursor): Promise<readonly Head[]>;
}

export const instanceCalls = {
  renew: "write",
  retire: "write",
  orphans: "read",
  due: "read",
} as const satisfies PortCalls<Instances>;
