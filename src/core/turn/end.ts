import { A2AError, CallError, maskedError } from "../../protocol/errors.js";
import type { Logger } from "../../protocol/logger.js";
import { TaskState } from "../../protocol/model.js";
import { isInterrupted } from "../../protocol/states.js";
import type { TurnAborted } from "../agent.js";
import type { AppendResult, Park } from "../ports.js";
import type { Runtime } from "../runtime.js";
import type { LiveTask } from "../task/live-task.js";
import { recordOfError } from "../task/recorded-error.js";
import { shuttingDown } from "../turn-slots.js";
import { isPassed, type TurnStart, type TurnSubject } from "../turn-start.js";
import type { TurnInbox } from "./inbox.js";
import type { TurnState } from "./phase.js";
import type { TurnWriter } from "./writer.js";

/** A turn whose agent returned, threw, or was cut off. */
export interface EndingTurn {
  readonly runtime: Runtime;
  readonly run: { readonly logger: Logger };
  readonly start: TurnStart;
  readonly subject: TurnSubject;
  readonly writer: TurnWriter;
  readonly inbox: TurnInbox;
  readonly state: TurnState;
  /** When it began. */
  readonly startedAt: number;
  /** Whether the agent did not unwind in time and may still run. */
  readonly isCutOff: boolean;
}

/** Writes the end of a turn. `failure`: what its agent threw. */
export async function endTurn(turn: EndingTurn, failure: { readonly error: unknown } | undefined): Promise<void> {
  const { live } = turn.writer;
  const { abortReason, output } = turn.state;
  if (output.name === "answered") return live?.flush();
  if (output.name === "parked" && failure === undefined && mayPark(abortReason, turn))
    return endParked(turn, output.park);
  if (abortReason !== undefined) return endAborted(turn, abortReason);
  if (failure !== undefined) return endFailed(turn, failure.error);
  if (live !== undefined && output.name === "stopped") return turn.inbox.endTurn(live, [{ kind: "turnEnded" }]);
  return turn.writer.end(TaskState.COMPLETED);
}

async function endAborted(turn: EndingTurn, reason: TurnAborted): Promise<void> {
  const { runtime, start, writer, inbox, subject, state } = turn;
  const { live } = writer;
  if (reason.kind === "OwnershipLost") return live?.abandon(reason);
  if (reason.kind === "Canceled") return writer.end(TaskState.CANCELED);
  if (reason.kind === "DeadlineExceeded") return writer.end(TaskState.FAILED, deadlineExceeded(runtime, start));
  // A cancel that arrived while the turn was being aborted for another reason.
  if (await inbox.holdsCancel()) return writer.end(TaskState.CANCELED);
  if (reason.kind === "ResourceExhausted") return endForMemory(turn);
  if (live !== undefined && runtime.restartable) {
    return state.output.name === "stopped" ? leaveWaiting(live, reason) : release(live, reason);
  }
  // As a killed process would have left it: the next message starts a turn.
  if (live !== undefined && isInterrupted(live.state)) return inbox.endTurn(live, [{ kind: "turnEnded" }]);
  if (live !== undefined) return writer.end(TaskState.FAILED, "the server was shut down before the task was done");
  if ("receiver" in subject) subject.receiver.fail(shuttingDown());
}

// A task that waits for its caller needs no memory: the next message starts a turn. The old agent must have ended by then.
async function endForMemory({ runtime, run, writer, inbox, state, isCutOff }: EndingTurn): Promise<void> {
  const { live } = writer;
  run.logger.warn({ limit: "runningMaxBytes", bytes: live?.bytes }, "a turn was ended to make room in memory");
  if (live !== undefined && !isCutOff && state.output.name === "stopped" && isInterrupted(live.state)) {
    if (!runtime.restartable) return inbox.endTurn(live, [{ kind: "turnEnded" }]);
    // If a message has arrived already, the task does not wait for its caller.
    if ((await leave(live)) !== "inboxMoved") return;
  }
  return writer.end(TaskState.FAILED, runtime.memory.refusal);
}

function deadlineExceeded({ limits, deadlines }: Runtime, { late }: TurnStart): string {
  if (late !== undefined && isPassed(late)) {
    if (deadlines === "wait") return "turn deadline exceeded: the deadline of the turn that called has passed";
    return 'turn deadline exceeded: the deadline of the caller has passed (deadlines: "abort")';
  }
  return `turn deadline exceeded: the limit is ${limits.turnDeadlineMs} ms (turnDeadlineMs)`;
}

function mayPark(reason: TurnAborted | undefined, { isCutOff }: EndingTurn): boolean {
  return reason === undefined || reason.kind === "Draining" || (reason.kind === "ResourceExhausted" && !isCutOff);
}

// The record does not end the turn, so senders keep waiting.
async function endParked(turn: EndingTurn, park: Park): Promise<void> {
  const { writer, inbox, runtime } = turn;
  if (writer.live === undefined) return;
  const wakeAt = notTooSoon(turn, park.wakeAt);
  await inbox.endTurn(writer.live, [{ kind: "turnParked" }], { wakeAt });
  if (wakeAt !== undefined) runtime.alarm.at(wakeAt);
}

// An agent that always parks until a time in the past would cause a busy loop.
function notTooSoon({ runtime, start, startedAt }: EndingTurn, wakeAt: number | undefined): number | undefined {
  if (wakeAt === undefined || start.cause === "message") return wakeAt;
  return Math.max(wakeAt, startedAt + runtime.limits.wakePauseMs);
}

// The task stays with this stopping process, so that another one re-runs its turn.
async function release(live: LiveTask, reason: TurnAborted): Promise<void> {
  await live.exclusive([{ kind: "turnReleased" }], {});
  live.abandon(reason);
}

// No process runs the task until its caller has answered. If a message has arrived already, another process takes over.
async function leaveWaiting(live: LiveTask, reason: TurnAborted): Promise<void> {
  if ((await leave(live)) === "inboxMoved") await release(live, reason);
}

function leave(live: LiveTask): Promise<AppendResult> {
  return live.exclusive([{ kind: "turnReleased" }], { end: { inboxPut: live.inboxPut } });
}

async function endFailed(turn: EndingTurn, cause: unknown): Promise<void> {
  const { writer, subject, state } = turn;
  const error = cause instanceof CallError ? maskCallError(turn, cause) : cause;
  if (!(error instanceof A2AError)) return writer.end(TaskState.FAILED, mask(turn, error));
  if (error.code === "invalidAgentResponse") {
    turn.run.logger.error({ err: error }, "the agent emitted what cannot be sent");
  }
  if (state.output.name !== "silent") return writer.end(TaskState.FAILED, error.message);
  if (writer.live !== undefined) return refuse(turn, writer.live, error);
  if ("receiver" in subject) subject.receiver.fail(error);
}

// The task stays as it was before the message: parked, or waiting for its caller. A turn without a message has no
// sender to refuse.
function refuse({ start, writer, inbox }: EndingTurn, live: LiveTask, error: A2AError): Promise<void> {
  const wasParked = !isInterrupted(live.state);
  if (wasParked && start.cause !== "message") return writer.end(TaskState.FAILED, error.message);
  const drafts = [{ kind: "turnEnded", error: recordOfError(error) }] as const;
  return inbox.endTurn(live, drafts, wasParked ? { wakeAt: live.wakeAt } : undefined);
}

// The caller must not learn which service the agent calls, or why it failed.
function maskCallError({ runtime, run }: EndingTurn, error: CallError): A2AError {
  const reference = runtime.newId();
  run.logger.error({ reference, err: error }, "an agent that this one calls did not answer");
  const { retryAfterMs } = error;
  return maskedError("unavailable", "an agent that this one calls did not answer", { reference, retryAfterMs });
}

function mask({ runtime, run }: EndingTurn, error: unknown): string {
  const reference = runtime.newId();
  run.logger.error({ reference, err: error }, "the agent failed");
  return `the agent failed (reference ${reference})`;
}
