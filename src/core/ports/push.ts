import type { Scope } from "../../protocol/context.js";
import type { FieldViolation } from "../../protocol/errors.js";
import type { TaskPushNotificationConfig } from "../../protocol/model.js";
import type { PortCalls } from "./calls.js";

// Push configurations, and how far each webhook has been told.

/** A push configuration and how far its webhook has been told: the number of the last record that was dealt with. */
export interface PushRegistration {
  readonly key: number;
  readonly taskId: string;
  readonly scope: Scope;
  readonly config: TaskPushNotificationConfig;
  readonly cursor: number;
  /** Protocol version in which the configuration was made; deliveries speak it. */
  readonly version: string;
  /** What the caller of that version calls the task, when that is not its id. */
  readonly taskName?: string | undefined;
  /** Instance that delivers; `""` without one. */
  readonly holder: string;
  /** The task has ended and nothing is owed: kept for readers with the holder `""`, and given to no instance. Default: false. */
  readonly settled?: boolean | undefined;
}

/** What a delivery that is done knows of its configuration: who holds it, and the last record of the task. */
interface PushEnd {
  readonly holder: string;
  readonly cursor: number;
}

/** Push configurations with their delivery cursor over the log. Credentials are kept here and nowhere else. */
export interface PushStore {
  /** Adds or replaces by `config.id`, which has a limit like the ids of a task. `full`: the task has `max` others already. Replacing keeps the cursor given. */
  set(registration: PushRegistration, max: number): Promise<"stored" | "full">;
  get(key: number, id: string): Promise<PushRegistration | undefined>;
  /** Oldest first. */
  list(key: number): Promise<readonly PushRegistration[]>;
  /** Deleting what is not there does no harm. */
  delete(key: number, id: string): Promise<void>;
  /** Moves a cursor forward; ignored for a configuration that is gone. */
  advance(key: number, id: string, cursor: number): Promise<void>;
  /** Settles a configuration. Ignored when it is gone, or another instance holds it by now. */
  settle(key: number, id: string, end: PushEnd): Promise<void>;
  /**
   * Gives an agent's configurations without a holder, or with an expired one, to this instance: those of tasks with records
   * behind the cursor, at most `limit`. A store that does not know the tasks may give others too, but none that are settled.
   */
  adopt(agent: string, instance: string, limit: number): Promise<readonly PushRegistration[]>;
  /** Releases all that an instance holds. */
  release(instance: string): Promise<void>;
  close(): Promise<void>;
}

export const pushCalls = {
  set: "write",
  get: "read",
  list: "read",
  delete: "write",
  advance: "write",
  settle: "write",
  adopt: "write",
  release: "write",
} as const satisfies PortCalls<Omit<PushStore, "close">>;

/** What the core needs of push notifications: the store, the checks that are policy, and the delivery. */
export interface PushService {
  readonly store: PushStore;
  /** What is wrong with a configuration: its URL may not be called, a header would be broken, … */
  check(config: TaskPushNotificationConfig): readonly FieldViolation[];
  /** A registration was added or replaced: what its task does from `cursor` on is to be delivered. */
  added(registration: PushRegistration): void;
  /** A registration was deleted: nothing more is sent to it. */
  removed(taskId: string, id: string): void;
}
