import type { A2AError, ErrorCode } from "../errors.js";
import type { TaskState } from "../model.js";
import type { Operation } from "../operations.js";
import type { StateName } from "../states.js";
import type { Trace, TraceContext } from "./trace.js";

// The events that calls, turns and webhooks report. The room `telemetry` receives them when there is an SDK.

/** A call whose operation is about to begin, or that failed before. */
export interface TracedCall {
  readonly binding: string;
  /** `undefined` if the call failed before its operation was known; so is the version. */
  readonly operation: Operation | undefined;
  readonly version: string | undefined;
  readonly header: (name: string) => string | undefined;
}

/** How a call ended. */
export interface CallOutcome {
  readonly code: "OK" | "CANCELLED" | ErrorCode;
  /** The error as its caller saw it. */
  readonly error: A2AError | undefined;
  readonly durationMs: number;
  readonly requestId: string;
  /** Events of a stream. */
  readonly events: number | undefined;
}

export interface CallTrace extends Trace {
  end(outcome: CallOutcome): void;
}

/** Follows the calls of a server. */
export interface CallTelemetry {
  /** `ageMs`: milliseconds since the call began. */
  begin(call: TracedCall, ageMs: () => number): CallTrace;
}

/** The task that something is about. */
export interface TracedTask {
  readonly taskId: string;
  readonly contextId: string;
}

/** A turn that begins. */
export interface TracedTurn {
  readonly contextId: string;
  readonly cause: "message" | "wake" | "restart";
  readonly attempt: number;
  /** The call or the wake that it follows from, or the place of that in its trace. */
  readonly parent: Trace | TraceContext | undefined;
  /** The cause of the previous turn, if there was one: the traces are linked. */
  readonly before: TraceContext | undefined;
}

/**
 * How a turn ended: the state in which it left its task, or `replied` without a task, `refused` before there was one,
 * `parked`, `released` to be run again, `lost` to another process.
 */
export type TurnOutcome = StateName | "replied" | "refused" | "parked" | "released" | "lost";

/** A turn under way. */
export interface TurnTrace extends Trace {
  /** Whether statuses are of use. */
  readonly isRecorded: boolean;
  /** The task of the turn, once it exists; a turn that only replies has none. */
  setTask(taskId: string): void;
  /** The agent has emitted an event. */
  countEvent(): void;
  /** A status of the task is stored. */
  noteState(state: TaskState): void;
  /** Events had to wait for the store. */
  addWait(ms: number): void;
  /** The turn has taken another message, from a call in this place. */
  link(from: TraceContext | undefined): void;
  /** `error`: what the agent threw, or why the turn was aborted. */
  end(outcome: TurnOutcome, error: unknown): void;
}

/** Follows the turns of an agent. */
export interface TurnTelemetry {
  begin(turn: TracedTurn): TurnTrace;
  /** A wake starts a turn: returns its place in a trace, which is linked to what caused the turn before. */
  wake(task: TracedTask, before: TraceContext | undefined): TraceContext;
}

/** The current figures of a running agent. */
export interface AgentStats {
  /** Turns whose agent works. */
  readonly running: number;
  /** Sends that wait for room for their turns. */
  readonly queued: number;
  /** Turns that wait for their caller. */
  readonly waiting: number;
  /** Messages that wait for running turns. */
  readonly inbox: number;
  /** Stored events that the slowest stream has not read. */
  readonly streamLag: number;
}

/** Unfinished tasks of an agent without a turn, in its store. */
export interface ParkedCount {
  /** Those with a wake time. */
  readonly timed: number;
  /** Those that wait for a call: a message of their caller, an authorization, or a wake. */
  readonly untimed: number;
  /** Names the database, alike for all stores on it. Default: no other store has these tasks. */
  readonly database?: string | undefined;
}

/** A commit of a store. */
export interface StoreFlush {
  /** The database, such as `sqlite` and `postgresql`. */
  readonly system: string;
  /** Writes in it. */
  readonly writes: number;
  readonly durationMs: number;
}

/** A call of a webhook. */
interface WebhookCall {
  readonly taskId: string;
  readonly url: string;
  /** Finds the call or the wake that caused the turn. */
  cause(): Promise<TraceContext | undefined>;
}

/** Follows the calls of webhooks. */
export interface WebhookTelemetry {
  /** Runs a call with the headers that carry its trace. `kind` of the outcome: `taken`, `failed` or `refused`. */
  call<T extends { readonly kind: string }>(
    call: WebhookCall,
    run: (headers: Readonly<Record<string, string>>) => Promise<T>,
  ): Promise<T>;
  /** A notification was dropped. */
  countDropped(): void;
}
