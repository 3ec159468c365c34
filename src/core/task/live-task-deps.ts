import type { Scope } from "../../protocol/context.js";
import type { Logger } from "../../protocol/logger.js";
import type { Conversations } from "../conversation/conversations.js";
import type { Lease } from "../lease.js";
import type { CoreLimits } from "../limits.js";
import type { Clock, Signals, TaskStore } from "../ports.js";
import type { StoreHealth } from "../store-health.js";
import type { Watch } from "../watch.js";

/** A task that this process abandoned when the store failed. A write of it may still arrive. */
export interface LostTask {
  readonly scope: Scope;
  /** Since when no write of it is under way. */
  idleSince: number;
  /** A write of it has no answer yet. */
  open: boolean;
  /** It was to be created, its send was refused, and no repeat of the send can attach to it. */
  readonly refused: boolean;
}

export interface LiveTaskDeps {
  readonly store: TaskStore;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly watch: Watch;
  readonly logger: Logger;
  readonly limits: CoreLimits;
  readonly instance: string;
  readonly lease: Lease;
  readonly health: StoreHealth;
  /** `undefined` when conversations are off. */
  readonly conversations: Conversations | undefined;
  /** Tasks abandoned after store failures, by id: their stored state is unknown. */
  readonly lostTasks: Map<string, LostTask>;
}
