import type { JsonValue } from "@bufbuild/protobuf";
import type { CallChain, CallProgress, Principal, ReadHeader, Scope } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import type { Message } from "../protocol/model.js";
import type { Slot } from "../protocol/slots.js";
import type { Trace, TraceContext } from "../protocol/telemetry/trace.js";
import type { TurnClient } from "../protocol/turn-client.js";
import type { AgentCallOptions } from "./agent.js";
import type { QueuedSend, TurnCause } from "./ports.js";
import type { LiveTask } from "./task/live-task.js";

/** The message, the caller and the trace that a turn starts with. */
export interface TurnStart {
  readonly cause: TurnCause;
  readonly attempt: number;
  readonly principal: Principal;
  readonly scope: Scope;
  /** Id of the send that delivered the message. */
  readonly entry: string;
  readonly send: QueuedSend;
  /** The id of the request that started the turn. */
  readonly requestId?: string | undefined;
  /** Reads the headers of the call that started the turn. Never stored. */
  readonly header?: ReadHeader | undefined;
  /** The call that started the turn, or the place of what did in its trace. */
  readonly trace?: Trace | TraceContext | undefined;
  /** The cause of the previous turn, if there was one. */
  readonly before?: TraceContext | undefined;
  /** Slots that the turn takes while it runs, for limits of callers. */
  readonly slots?: readonly Slot[] | undefined;
  /** When the caller stops waiting for what it sent, in milliseconds since 1970. Never stored. */
  readonly deadline?: number | undefined;
  /**
   * The signal of the call, if its deadline ends the turn: aborts then with `deadlineExceeded`. `undefined`: the
   * deadline ends only the caller's wait.
   */
  readonly late?: AbortSignal | undefined;
  /** Facts that the turn passes on with calls to other agents of the process. */
  readonly chain?: CallChain | undefined;
  /** Tells the call of the send that its work has begun. Never stored. */
  readonly progress?: CallProgress | undefined;
  /** Data of the wake that started the turn. */
  readonly wake?: JsonValue | undefined;
  /** The event that ended the wait of a re-run turn; its entry is in the inbox. */
  readonly answeredBy?: "message" | "wake" | undefined;
}

/** Notes that the agent starts or that the message may reach its task. From now on the send must not be repeated. */
export function markStarted({ progress }: TurnStart): void {
  if (progress !== undefined) progress.begun = true;
}

/** Whether a call's deadline aborted its signal, and not the caller who left. */
export function isDeadlinePassed({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof A2AError && reason.code === "deadlineExceeded";
}

/**
 * Receives what a turn without a task becomes: a message, a task, or an error. Called once, but that an error may follow
 * a task whose first write is late: the turn goes on, and the call that started it ends.
 */
export interface OutcomeReceiver {
  /** A larger reply completes a task instead. Default: no limit. */
  readonly replyMaxBytes?: number | undefined;
  /** `bytes`: size of the message. */
  reply(message: Message, bytes: number): void;
  task(live: LiveTask): void;
  fail(error: A2AError): void;
}

/** A new turn: of a task that may be created, or of one that was claimed. */
export type TurnTarget =
  | {
      readonly taskId: string;
      readonly contextId: string;
      readonly version: string;
      /** The caller's name for the task. With a name the task is created before the agent's first event. */
      readonly name: string | undefined;
      readonly receiver: OutcomeReceiver;
    }
  | { readonly live: LiveTask };

/** The caller and the context that calls of a turn pass on. */
export interface TurnCaller {
  readonly principal: Principal;
  readonly signal: AbortSignal;
  readonly requestId: string | undefined;
  readonly header: ReadHeader | undefined;
  readonly chain: CallChain | undefined;
  /** Milliseconds until the deadline of the turn. `undefined` without one. */
  leftMs(): number | undefined;
}

/** Returns a client of another agent of the server, for a turn. Throws a `TypeError` for an unknown path. */
export type TurnClients = (path: string, turn: TurnCaller, options?: AgentCallOptions) => TurnClient;
