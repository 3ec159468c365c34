import type { Scope } from "../../protocol/context.js";
import type { Message } from "../../protocol/model.js";
import type { PortCalls } from "./calls.js";
import type { RecordedError } from "./log.js";

// Sends that shall be done once, and what they came to.

/** Names one try of a send that shall be done once: its record, and that it was not taken since. */
export interface SendClaim {
  readonly scope: Scope;
  readonly messageId: string;
  /** Id of the send: with it stands the message in the log and in the inbox, whichever try brought it there. */
  readonly entry: string;
  /** From 1; raised by each `takeSend`. */
  readonly attempt: number;
}

/** The record of a send that shall be done once, as it is when the send begins. One of a scope has a `messageId`. */
export interface NewSend extends Omit<SendClaim, "attempt"> {
  /** Digest of the content: another one under the same `messageId` is another message. */
  readonly digest: string;
  /** The task that the message goes to, or the id that its new task will have if there is to be one. */
  readonly taskId: string;
  /** Number of the last record of the task before the message; 0 for a message that starts a task. */
  readonly seq: number;
  /** Who brings the message to its task; `""` when none does any more. */
  readonly instance: string;
}

export interface SendRecord extends NewSend, SendClaim {
  /** Whether the instance had not expired when this was read, by the store's clock. */
  readonly live: boolean;
  /** `undefined` as long as the send may still come to nothing. */
  readonly outcome: SentOutcome | undefined;
}

/** What a send came to. `task`: its message has reached the task of the record, whose log says the rest. */
export type SentOutcome =
  | { readonly kind: "task" }
  | { readonly kind: "reply"; readonly message: Message }
  | { readonly kind: "error"; readonly error: RecordedError };

/** The records of idempotent sends. */
export interface SendRecords {
  /**
   * Adds the record of a send at attempt 1, unless there is one for its scope and `messageId`. Gives the record that
   * stands there then: the caller's own when it has the caller's `entry`. A store may forget records that are old or too
   * many, the oldest first. Rejects with `invalidParams` for a scope or a `messageId` that is too long, as `create` does.
   */
  beginSend(send: NewSend): Promise<SendRecord>;
  readSend(scope: Scope, messageId: string): Promise<SendRecord | undefined>;
  /** Hands the record to an instance and raises its attempt. False, without effect, unless the claim matches and there is no outcome. */
  takeSend(claim: SendClaim, instance: string): Promise<boolean>;
  /**
   * Writes down what the send came to; `bytes`: about what that takes. False when the claim does not match. An outcome
   * that is there already stays, and the answer is true.
   */
  settleSend(claim: SendClaim, outcome: SentOutcome, bytes: number): Promise<boolean>;
  /** Deletes the record, with its outcome if it has one. False when the claim does not match. */
  forgetSend(claim: SendClaim): Promise<boolean>;
}

export const sendCalls = {
  beginSend: "write",
  readSend: "read",
  takeSend: "write",
  settleSend: "write",
  forgetSend: "write",
} as const satisfies PortCalls<SendRecords>;
