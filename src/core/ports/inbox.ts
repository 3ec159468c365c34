import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Message, SendMessageConfiguration } from "../../protocol/model.js";
import type { TraceContext } from "../../protocol/telemetry/trace.js";
import type { PortMethods } from "./methods.js";

// The inbox: what waits for the turn of a task.

/** An entry that waits for the turn of a task: a follow-up message, a cancel or a wake. */
export interface InboxEntry {
  readonly id: string;
  readonly kind: "message" | "cancel" | "wake";
  /** Set for a message. */
  readonly send?: QueuedSend | undefined;
  /** Data of a wake. */
  readonly wake?: JsonValue | undefined;
}

/** The context of a send besides its message. */
export interface SendContext {
  readonly configuration: SendMessageConfiguration | undefined;
  readonly metadata: Message["metadata"];
  readonly extensions: readonly string[];
  /** The sender beside owner and tenant, if the program keeps that (`auth.keepClaims`). */
  readonly principal?: JsonObject | undefined;
  /** The place of the send in its trace; absent if telemetry did not follow it. */
  readonly trace?: TraceContext | undefined;
}

/** A send that another process received, for the turn. Holds no credentials. */
export interface QueuedSend extends SendContext {
  readonly message: Message;
}

/**
 * `idle`: the task has no holder, so the receiver claims it. `ended`: its state is terminal. `moved`: the fence did not
 * match and nothing was put.
 */
export type PutResult = "stored" | "full" | "idle" | "ended" | "moved";

/** The state of an inbox as read: an entry is put only while the head still has this `epoch` and `inboxPut`. */
export interface PutFence {
  readonly epoch: number;
  readonly inboxPut: number;
}

/** The inboxes of tasks. */
export interface TaskInbox {
  /**
   * Puts an entry into the inbox of a held task. At most `maxMessages` messages wait; one cancel and one wake always
   * fit (a second one is `stored` without effect). Increments the head's `inboxPut` if it took effect. With a fence the
   * result is `moved` when the head has another epoch or `inboxPut`.
   */
  put(key: number, entry: InboxEntry, maxMessages: number, fence?: PutFence): Promise<PutResult>;
  /** The waiting entries, oldest first, cancels before messages, and the head's `inboxPut` at the same moment. */
  inbox(key: number): Promise<{ readonly entries: readonly InboxEntry[]; readonly inboxPut: number }>;
  /** Removes an entry; false when it was no longer waiting. */
  withdraw(key: number, entryId: string): Promise<boolean>;
}

export const inboxCalls = { put: "write", inbox: "read", withdraw: "write" } as const satisfies PortMethods<TaskInbox>;
