import type { JsonValue } from "@bufbuild/protobuf";
import type { Principal, Scope } from "../protocol/context.js";
import type { A2AError } from "../protocol/errors.js";
import type { Message } from "../protocol/model.js";
import type { QueuedSend, TurnCause } from "./ports.js";
import type { LiveTask } from "./task/live-task.js";

/** What a turn is started with. */
export interface TurnStart {
  readonly cause: TurnCause;
  readonly attempt: number;
  readonly principal: Principal;
  readonly scope: Scope;
  /** Id of the send that brought the message. */
  readonly entry: string;
  readonly send: QueuedSend;
  /** What the wake has brought that started the turn. */
  readonly wake?: JsonValue | undefined;
}

/** Who waits for what a turn without a task turns out to be: a message, a task, or an error. Called once. */
export interface Opening {
  /** A reply that is larger completes a task instead. Default: none is. */
  readonly replyMaxBytes?: number | undefined;
  reply(message: Message): void;
  live(task: LiveTask): void;
  failed(error: A2AError): void;
}

/** A new turn: of a task that may come to be, or of one that was claimed. */
export type TurnSubject =
  | {
      readonly taskId: string;
      readonly contextId: string;
      readonly version: string;
      /** What the caller calls the task: then there is one whatever the agent says, and before it says anything. */
      readonly name: string | undefined;
      readonly opening: Opening;
    }
  | { readonly live: LiveTask };
