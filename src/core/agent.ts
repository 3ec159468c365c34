import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { AuthorizationRequest } from "../protocol/authorization/request.js";
import type { FileContent, ReadData } from "../protocol/content/read.js";
import type { Principal } from "../protocol/context.js";
import type { AgentEvent } from "../protocol/events.js";
import type { Logger } from "../protocol/logger.js";
import type { Message, SendMessageConfiguration, Task } from "../protocol/model.js";
import type { TurnClient } from "../protocol/turn-client.js";
import type { ContextState, ConversationEntry, ConversationPage } from "./conversation-view.js";
import type { TurnCause } from "./ports.js";

/**
 * Why a turn's signal was aborted. `Canceled`: the caller canceled the task. `DeadlineExceeded`: the turn's time limit
 * passed, or, with `deadlines: "abort"`, the deadline of the caller that waits for the task. `Draining`: the server is
 * shutting down. `OwnershipLost`: another process took the task over, or the store refused what the turn has written.
 * `ResourceExhausted`: the caller's running tasks took too much memory, and this task was among the largest.
 */
export type AbortKind = "Canceled" | "DeadlineExceeded" | "Draining" | "OwnershipLost" | "ResourceExhausted";

/**
 * The abort of a turn: `signal.reason`, and the error of a pending `emit`, `receive` or `ask`. Its `name` is
 * `AbortError`, so that libraries that get the signal do not retry.
 *
 * @example
 * ```ts
 * const agent: Agent = async function* ({ text, signal, logger }) {
 *   try {
 *     yield artifact(await model.complete(text, { signal }));
 *   } catch (error) {
 *     if (error instanceof TurnAborted) logger.info({ kind: error.kind }, "stopped early");
 *     throw error;
 *   }
 * };
 * ```
 */
export class TurnAborted extends DOMException {
  /** Why the turn was aborted. */
  readonly kind: AbortKind;

  constructor(kind: AbortKind) {
    super(`the turn was aborted: ${kind}`, "AbortError");
    this.kind = kind;
  }
}

/** Tokens left in the current budget window of a caller. */
export interface TokenBudget {
  /** Number of tokens: 0 when the budget is used up, `Infinity` without a budget. */
  readonly left: number;
}

/** How the wait for an authorization ended: by a wake, or by a message of the caller. */
export interface AuthorizationEnd {
  /** The caller's message, such as a refusal; `undefined` if the task was woken. */
  readonly message: Message | undefined;
  /** Data of the wake. */
  readonly wake: JsonValue | undefined;
}

/** Options of a client that a turn gets of another agent of its server. */
export interface AgentCallOptions {
  /**
   * The caller. Default: that of the turn. Required if the other agent has its own authentication, since the same owner
   * name may be another person there.
   */
  readonly principal?: Principal | undefined;
  /** Headers of every call, in addition to those of the trace. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** One run of the agent for one message: the message, its task and context, and methods to answer. */
export interface Turn {
  /**
   * The message that started the turn, or the last one that `receive` took. After a wake or a restart: the message of
   * the previous turn.
   */
  readonly message: Message;
  /** Its text parts, joined. */
  readonly text: string;
  /**
   * Its first data part as plain JSON; `undefined` without one. `turn.data(schema)` checks it with a Standard Schema
   * (zod, valibot, arktype) and throws `invalidParams` with the path of each violation; if the agent does not catch it,
   * the caller gets it. Throws a `TypeError` for an asynchronous schema.
   */
  readonly data: ReadData;
  /** Its files, with their bytes or their URL. Created anew on each access. */
  readonly files: readonly FileContent[];
  /** The task as of the start of the turn; `undefined` for a new one. */
  readonly task: Task | undefined;
  /** The id of the task, known before the task exists. */
  readonly taskId: string;
  /** The id of the context that the task belongs to. */
  readonly contextId: string;
  /** What the caller accepts, as sent with the message; `undefined` if it sent none. */
  readonly configuration: SendMessageConfiguration | undefined;
  /** Metadata of the request. */
  readonly metadata: JsonObject | undefined;
  /** URIs of the extensions active for the call. */
  readonly extensions: readonly string[];
  /** The caller. Without `auth` or `authenticate`, all callers are the owner `anonymous`. */
  readonly principal: Principal;
  /**
   * Returns a header, or a value of gRPC metadata, of the call that started the turn; names are case-insensitive, and
   * repeated values are joined by commas. `undefined` for a missing header, and always in a turn that no call to this
   * process started: after a wake or a restart, and for a message that another process received. Headers are never
   * stored.
   */
  readonly header: (name: string) => string | undefined;
  /**
   * When the caller of the turn stops waiting, in milliseconds since 1970. The turn continues after that, and its task
   * can still be read and subscribed to. With `deadlines: "abort"` the turn is aborted then if its caller waits for the
   * task. `undefined` if the caller set none, and in turns that no call to this process started.
   */
  readonly deadline: number | undefined;
  /** The tenant of the caller; `""` without tenants. */
  readonly tenant: string;
  /**
   * 1 for the first run, and one more for each run after a process died while it worked on the turn. A shutdown, and a
   * death while the turn waited for its caller, do not count.
   */
  readonly attempt: number;
  /**
   * `message`: the caller sent one. `restart`: the turn runs again because its process died or was shut down. `wake`: a
   * parked task became due or was woken.
   */
  readonly cause: TurnCause;
  /** Data of the wake that started the turn; `undefined` if the parked task became due. */
  readonly wake: JsonValue | undefined;
  /** Aborts when the turn must stop; `reason` is a `TurnAborted`. Pass it to everything that waits. */
  readonly signal: AbortSignal;
  /** The logger of the program; its records carry the ids of the task, the context and the request. */
  readonly logger: Logger;
  /**
   * Emits an event. Resolves when it is accepted: an artifact chunk once it is in the batch, a status or a `lastChunk`
   * once it is stored. After an abort it rejects with `TurnAborted`.
   */
  readonly emit: (event: AgentEvent) => Promise<void>;
  /** Resolves when everything emitted so far is stored. */
  readonly flush: () => Promise<void>;
  /** Waits for the caller's next message to this task, and returns it. */
  readonly receive: () => Promise<Message>;
  /**
   * Emits an event, then waits for the answer: `await turn.ask(inputRequired("Which account?"))`. A turn that runs
   * again does not ask the same question twice: it gets the answer that an earlier run got, or waits for it.
   */
  readonly ask: (event: AgentEvent) => Promise<Message>;
  /**
   * Asks the caller to authorize something out of band, and waits until the program wakes the task
   * (`server.tasks.wake(taskId)`), such as in the callback of an authorization server, or until the caller sends a
   * message. Neither proves consent: check that you hold the grant, and ask again if not. A turn that runs again while
   * it waits does not ask twice. Throws a `TypeError` for a URL that is not https, or http on this machine.
   */
  readonly authorize: (request: AuthorizationRequest) => Promise<AuthorizationEnd>;
  /** The task's messages so far, oldest first. `last`: only so many of the latest. */
  readonly history: (options?: { readonly last?: number | undefined }) => Promise<readonly Message[]>;
  /**
   * The conversation of this caller and the agent in this context, over all tasks, oldest first: messages, results, and
   * replies without a task. It does not contain the message that the turn answers, which is `turn.message`. Rejects
   * with a `TypeError` for an invalid page, and with `conversations: false`.
   */
  readonly conversation: (page?: ConversationPage) => Promise<readonly ConversationEntry[]>;
  /** Small state of the context. Throws a `TypeError` with `conversations: false`. */
  readonly context: ContextState;
  /**
   * Charges tokens to the budgets of the caller (`rate`), and resolves with what is left. A running turn is never
   * stopped by its budget: tokens over it are counted too, and the caller's next new task is refused. Does nothing
   * without a budget. Rejects with a `TypeError` unless `tokens` is a whole number of 0 or more.
   */
  readonly charge: (usage: { readonly tokens: number }) => Promise<TokenBudget>;
  /**
   * Returns a client of another agent of the same server, by its path: `turn.client("/weather").send("…")`. Its calls
   * do not use the network. They pass on the caller, the trace and the remaining time, and end with the turn: a task
   * that it waits for is canceled when the turn is aborted. Throws a `TypeError` for a path without an agent.
   */
  readonly client: (path: string, options?: AgentCallOptions) => TurnClient;
  /** The tasks that the message references and the caller may see; at most 16. */
  readonly references: () => Promise<readonly Task[]>;
}

/** The return value of an agent: a generator of events, or (a promise of) one last event or nothing. */
export type AgentResult =
  | AsyncIterable<AgentEvent>
  | AsyncGenerator<AgentEvent, AgentEvent | undefined | void>
  | Promise<AgentEvent | undefined | void>;

/** An agent is a function of a turn. */
export type Agent = (turn: Turn) => AgentResult;
