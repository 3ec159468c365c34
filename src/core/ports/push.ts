import type { Scope } from "../../protocol/context.js";
import type { FieldViolation } from "../../protocol/errors.js";
import type { TaskPushNotificationConfig } from "../../protocol/model.js";
import type { PortMethods } from "./methods.js";

// Push configurations and the progress of their deliveries.

/** A push configuration with its delivery cursor: the number of the last record handled. */
export interface PushRegistration {
  readonly key: number;
  readonly taskId: string;
  readonly scope: Scope;
  readonly config: TaskPushNotificationConfig;
  readonly cursor: number;
  /** Protocol version that created the configuration; deliveries use it. */
  readonly version: string;
  /** The caller's name for the task, if it differs from the id. */
  readonly taskName?: string | undefined;
  /** Instance that delivers; `""` if none does. */
  readonly holder: string;
  /**
   * The task has ended and nothing is owed. The configuration is kept for reads with the holder `""` and is never
   * adopted. Default: false.
   */
  readonly settled?: boolean | undefined;
}

/** The state of a configuration at the end of its delivery: its holder, and the last record of the task. */
interface PushEnd {
  readonly holder: string;
  readonly cursor: number;
}

/** Push configurations with their delivery cursors over the log. Only this store keeps their credentials. */
export interface PushStore {
  /**
   * Adds a configuration, or replaces the one with the same `config.id`, which is limited in length like a task's id.
   * `full`: the task already has `max` others. Replacing keeps the given cursor.
   */
  set(registration: PushRegistration, max: number): Promise<"stored" | "full">;
  /** `undefined` for a missing configuration. */
  get(key: number, id: string): Promise<PushRegistration | undefined>;
  /** Oldest first. */
  list(key: number): Promise<readonly PushRegistration[]>;
  /** Deleting a missing configuration does nothing. */
  delete(key: number, id: string): Promise<void>;
  /** Moves a cursor forward; ignored for a deleted configuration. */
  advance(key: number, id: string, cursor: number): Promise<void>;
  /** Settles a configuration. Ignored if it was deleted or another instance holds it. */
  settle(key: number, id: string, end: PushEnd): Promise<void>;
  /**
   * Assigns the agent's configurations without a live holder to this instance: those of tasks with records after the
   * cursor, at most `limit`. A store that does not know the tasks may return others, but no settled ones.
   */
  adopt(agent: string, instance: string, limit: number): Promise<readonly PushRegistration[]>;
  /** Releases the configurations of an agent that an instance holds. */
  release(agent: string, instance: string): Promise<void>;
  /** Waits for writes under way and releases everything. */
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
} as const satisfies PortMethods<Omit<PushStore, "close">>;

/** Push notifications for the core: the store, the policy checks, and the delivery. */
export interface PushService {
  readonly store: PushStore;
  /** Violations of a configuration, such as a URL that may not be called or a broken header. */
  check(config: TaskPushNotificationConfig): readonly FieldViolation[];
  /** A registration was added or replaced: the task's records after `cursor` are to be delivered. */
  added(registration: PushRegistration): void;
  /** A registration was deleted: nothing more is sent to it. */
  removed(taskId: string, id: string): void;
}
