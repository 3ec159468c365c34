import type { ParkedCount } from "../../protocol/telemetry/follow.js";
import type { Head } from "./log.js";
import type { PortMethods } from "./methods.js";

// Which processes are alive, and the work that dead ones left behind.

/** A position among the parked tasks: that of a task whose head has these values, whether or not it is still there. */
export interface DueCursor {
  readonly wakeAt: number;
  readonly key: number;
}

/** A position among the tasks that wait. */
export type WaitingCursor = Pick<Head, "statusTime" | "key">;

/** The processes that use a store, under names that expire. */
export interface Instances {
  /**
   * Registers or renews an instance. It expires `ttlMs` from now by the store's clock. Returns the store's time in
   * milliseconds since the epoch. Also forgets instances that renewed later than now: the store's clock was set back.
   */
  renew(instance: string, ttlMs: number): Promise<number>;
  /** Expires an instance at once. */
  retire(instance: string): Promise<void>;
  /**
   * Other durations than `ttlMs` for which live instances were last renewed, each once, at most ten. Those that another release has
   * registered without one are left out. It is called once a minute.
   */
  otherTtls(ttlMs: number): Promise<readonly number[]>;
  /**
   * Heads of the agent's tasks whose holder has expired, by ascending key, at most `limit`. `after`: only keys above
   * this one.
   */
  orphans(agent: string, limit: number, after?: number): Promise<readonly Head[]>;
  /**
   * Heads of the agent's parked tasks that are due by the store's clock, earliest first, then by key, at most `limit`.
   * `after`: only those after this position.
   */
  due(agent: string, limit: number, after?: DueCursor): Promise<readonly Head[]>;
  /**
   * Heads of the agent's unfinished tasks that have no holder and no wake time, and whose last status is at least
   * `olderMs` old by the store's clock: oldest first, then by key, at most `limit`. `after`: only those after this
   * position.
   */
  waiting(agent: string, olderMs: number, limit: number, after?: WaitingCursor): Promise<readonly Head[]>;
  /**
   * Counts the agent's unfinished tasks that have no holder: those with a wake time, and the others, which are the tasks
   * of `waiting`. Names the database where other stores may be on it. It is called at most every ten seconds.
   */
  parked(agent: string): Promise<ParkedCount>;
}

export const instanceCalls = {
  renew: "write",
  retire: "write",
  otherTtls: "read",
  orphans: "read",
  due: "read",
  waiting: "read",
  parked: "read",
} as const satisfies PortMethods<Instances>;
