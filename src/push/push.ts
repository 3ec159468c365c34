import type { Clock, PushService, PushStore, Signals, TaskStore } from "../core/ports.js";
import type { Logger } from "../protocol/logger.js";
import type { Version } from "../version/codec.js";
import type { PushAllow } from "./policy.js";

export interface PushDeliveryOptions {
  readonly allow: PushAllow;
  readonly store?: PushStore | undefined;
  readonly tasks: TaskStore;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly versions: readonly Version[];
}

/** Push notifications of one process: what the core asks, and the deliveries behind it. */
export interface Push {
  readonly service: PushService;
  close(): Promise<void>;
}

export function createPush(options: PushDeliveryOptions): Push { throw new Error(String(options.allow)); }
