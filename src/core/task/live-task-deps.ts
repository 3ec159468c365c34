import type { Scope } from "../../protocol/context.js";
import type { Logger } from "../../protocol/logger.js";
import type { Lease } from "../lease.js";
import type { CoreLimits } from "../limits.js";
import type { Clock, Signals, TaskStore } from "../ports.js";
import type { Watch } from "../watch.js";

export interface LiveTaskDeps {
  readonly store: TaskStore;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly watch: Watch;
  readonly logger: Logger;
  readonly limits: CoreLimits;
  readonly instance: string;
  readonly lease: Lease;
  /** Tasks abandoned after store failures, by id: their stored state is unknown. */
  readonly lost: Map<string, { readonly scope: Scope; readonly since: number }>;
}
