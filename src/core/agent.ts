import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Principal } from "../protocol/context.js";
import type { AgentEvent } from "../protocol/events.js";
import type { Logger } from "../protocol/logger.js";
import type { Message, SendMessageConfiguration, Task } from "../protocol/model.js";
import type { TurnCause } from "./ports.js";

/**
 * Why a turn's signal has aborted. `Canceled`: the caller asked for it. `DeadlineExceeded`: the turn's own limit.
 * `Draining`: the server goes down. `OwnershipLost`: another process has taken the task over.
 */
export type AbortKind = "Canceled" | "DeadlineExceeded" | "Draining" | "OwnershipLost";

/** `signal.reason` of a turn, and what a pending `emit`, `receive` or `ask` rejects with. */
export class TurnAborted extends Error {
  readonly kind: AbortKind;

  constructor(kind: AbortKind) {
    super(`the turn was aborted: ${kind}`);
    this.name = kind;
    this.kind = kind;
  }
}

/** One run of the agent: everything it knows of the message it answers, and how it answers. */
export interface Turn {
  /** The message that started the turn, or the last one that `receive` took. After a wake or a restart: that of the turn before. */
  readonly message: Message;
  /** Its text parts, joined. */
  readonly text: string;
  /** The task as it stood when the turn began; `undefined` for a new one. */
  readonly task: Task | undefined;
  readonly taskId: string;
  readonly contextId: string;
  readonly configuration: SendMessageConfiguration | undefined;
  /** Metadata of the request. */
  readonly metadata: JsonObject | undefined;
  /** Extension URIs that are active for the call. */
  readonly extensions: readonly string[];
  readonly principal: Principal;
  readonly tenant: string;
  /** 1, or more when the turn runs again. */
  readonly attempt: number;
  /** `restart`: the process of the turn before has gone; `wake`: the task was parked, or woken. */
  readonly cause: TurnCause;
  /** What the wake has brought that started the turn; `undefined` when its time had come. */
  readonly wake: JsonValue | undefined;
  /** Aborts with a `TurnAborted`. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /**
   * Says something. Resolves when the event is accepted: a chunk of an artifact when it is in the batch, a status and a
   * `lastChunk` when they are stored. Rejects with `TurnAborted` once after an abort.
   */
  readonly emit: (event: AgentEvent) => Promise<void>;
  /** Resolves when everything emitted so far is stored. */
  readonly flush: () => Promise<void>;
  /** Waits for the caller's next message to this task and takes it. */
  readonly receive: () => Promise<Message>;
  /** Emits an event, then waits for the answer: `await turn.ask(inputRequired("Which account?"))`. */
  readonly ask: (event: AgentEvent) => Promise<Message>;
  /** The task's messages so far, oldest first; at most the `last` ones. */
  readonly history: (options?: { readonly last?: number | undefined }) => Promise<readonly Message[]>;
  /** The tasks that the message refers to, as far as the caller may see them; at most 16. */
  readonly references: () => Promise<readonly Task[]>;
}

/** What an agent may give back: a generator of events, or (a promise of) one last event or nothing. */
export type AgentResult =
  | AsyncIterable<AgentEvent>
  | AsyncGenerator<AgentEvent, AgentEvent | undefined | void>
  | Promise<AgentEvent | undefined | void>;

/** An agent is a function of a turn. */
export type Agent = (turn: Turn) => AgentResult;
