import type { JsonValue } from "@bufbuild/protobuf";
import type { Message, SendMessageConfiguration } from "../../protocol/model.js";
import type { PortCalls } from "./calls.js";

// What waits for the turn of a task.

/** Something that waits for the turn of a task: a follow-up message, a cancel, a wake. */
export interface InboxEntry {
  readonly id: string;
  readonly kind: "message" | "cancel" | "wake";
  /** Set for a message. */
  readonly send?: QueuedSend | undefined;
  /** What a wake brings. */
  readonly wake?: JsonValue | undefined;
}

/** What a send says beside its message. */
export interface SendContext {
  readonly configuration: SendMessageConfiguration | undefined;
  readonly metadata: Message["metadata"];
  readonly extensions: readonly string[];
}

/** What a turn needs of a send that it did not receive itself. Holds no credentials. */
export interface QueuedSend extends SendContext {
  readonly message: Message;
}

/**
 * `idle`: the task has no holder, so the receiver claims it. `ended`: its state is terminal. `moved`: the fence did not
 * match, nothing was put.
 */
export type PutResult = "stored" | "full" | "idle" | "ended" | "moved";

/** What a task's inbox was seen as: an entry is put only while the head still has this `epoch` and `inboxPut`. */
export interface PutFence {
  readonly epoch: number;
  readonly inboxPut: number;
}

/** The inboxes of tasks. */
export interface TaskInbox {
  /**
   * Puts an entry into the inbox of a task that is held. At most `maxMessages` messages wait; one cancel and one wake
   * always fit (a second one is `stored` without effect). Raises the head's `inboxPut` when it took effect. With a
   * fence it is `moved` when the head has another epoch or `inboxPut`.
   */
  put(key: number, entry: InboxEntry, maxMessages: number, fence?: PutFence): Promise<PutResult>;
  /** What waits, oldest first, cancels before messages, and the head's `inboxPut` of the same moment. */
  inbox(key: number): Promise<{ readonly entries: readonly InboxEntry[]; readonly inboxPut: number }>;
  /** Takes an entry back; false when it was no longer waiting. */
  withdraw(key: number, entryId: string): Promise<boolean>;
}

export const inboxCalls = { put: "write", inbox: "read", withdraw: "write" } as const satisfies PortCalls<TaskInbox>;
