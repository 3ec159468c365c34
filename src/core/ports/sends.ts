import type { Scope } from "../../protocol/context.js";
import type { Message } from "../../protocol/model.js";
import type { RecordedError } from "./log.js";
import type { PortMethods } from "./methods.js";

// Idempotent sends and their outcomes.

/** Identifies one attempt at an idempotent send, valid until the record is taken again. */
export interface SendClaim {
  readonly scope: Scope;
  readonly messageId: string;
  /** Id of the send. The message has it in the log and in the inbox, whichever attempt delivered it. */
  readonly entry: string;
  /** Starts at 1; incremented by each `takeSend`. */
  readonly attempt: number;
}

/** The record of an idempotent send as the send begins. Unique by scope and `messageId`. */
export interface NewSend extends Omit<SendClaim, "attempt"> {
  /** Digest of the content. Another digest under the same `messageId` means another message. */
  readonly digest: string;
  /** The task that receives the message, or the id reserved for a new task. */
  readonly taskId: string;
  /** Number of the task's last record before the message; 0 if the message starts a task. */
  readonly seq: number;
  /** Instance that delivers the message; `""` if none does any more. */
  readonly instance: string;
}

export interface SendRecord extends NewSend, SendClaim {
  /** Whether the instance's lease was valid at the time of the read, by the store's clock. */
  readonly live: boolean;
  /** `undefined` until the outcome is known. */
  readonly outcome: SentOutcome | undefined;
}

/** The outcome of a send. `task`: the message reached the record's task, whose log has the rest. */
export type SentOutcome =
  | { readonly kind: "task" }
  | { readonly kind: "reply"; readonly message: Message }
  | { readonly kind: "error"; readonly error: RecordedError };

/** The records of idempotent sends. */
export interface SendRecords {
  /**
   * Adds the record of a send at attempt 1, unless its scope and `messageId` have one. Returns the record in the store;
   * it is the caller's own if it has the caller's `entry`. A store may forget the oldest records by age or number.
   * Rejects with `invalidParams` for a scope or a `messageId` that is too long, as `create` does.
   */
  beginSend(send: NewSend): Promise<SendRecord>;
  /** The record of an idempotent send; `undefined` when there is none. */
  readSend(scope: Scope, messageId: string): Promise<SendRecord | undefined>;
  /**
   * Assigns the record to an instance and increments its attempt. Returns false, without effect, unless the claim
   * matches and there is no outcome.
   */
  takeSend(claim: SendClaim, instance: string): Promise<boolean>;
  /**
   * Records the outcome; `bytes`: its approximate size. Returns false when the claim does not match. An existing
   * outcome stays, and the result is true.
   */
  settleSend(claim: SendClaim, outcome: SentOutcome, bytes: number): Promise<boolean>;
  /** Deletes the record with its outcome, if any. Returns false when the claim does not match. */
  forgetSend(claim: SendClaim): Promise<boolean>;
}

export const sendCalls = {
  beginSend: "write",
  readSend: "read",
  takeSend: "write",
  settleSend: "write",
  forgetSend: "write",
} as const satisfies PortMethods<SendRecords>;
