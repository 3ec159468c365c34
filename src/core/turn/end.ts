import { A2AError } from "../../protocol/errors.js";
import { TaskState } from "../../protocol/model.js";
import { isInterrupted } from "../../protocol/states.js";
import type { AbortKind } from "../agent.js";
import type { Park } from "../ports.js";
import type { LiveTask } from "../task/live-task.js";
import { recordedError } from "../task/recorded-error.js";
import { recordBytes } from "../task/size.js";
import { shuttingDown } from "../turn-counter.js";
import type { TurnSubject } from "../turn-start.js";
import type { TurnRun } from "./run.js";
import type { TurnPen } from "./writer.js";

/** A turn whose agent has returned or thrown, or was cut off. */
export interface EndingTurn {
  readonly run: TurnRun;
  readonly pen: TurnPen;
  readonly subject: TurnSubject;
  /** Nothing was emitted, and no task made for that reason, since the turn began. */
  readonly silent: boolean;
  /** When it began. */
  readonly begun: number;
}

/** Writes how a turn has ended. `failure`: what its agent has thrown. */
export async function endTurn(turn: EndingTurn, failure: { readonly error: unknown } | undefined): Promise<void> {
  const { run, pen } = turn;
  const { parked } = pen;
  if (parked !== undefined && failure === undefined && mayPark(run)) return endParked(turn, parked);
  if (parked === undefined && pen.closed) return run.live?.flushed();
  if (run.aborted !== undefined) return endAborted(turn, run.aborted.kind);
  if (failure !== undefined) return endFailed(turn, failure.error);
  if (run.live !== undefined && pen.stopped) return run.inbox.endTurn(run.live, [{ kind: "turnEnded" }]);
  return pen.end(TaskState.COMPLETED);
}

async function endAborted({ run, pen, subject }: EndingTurn, kind: AbortKind): Promise<void> {
  if (kind === "OwnershipLost") return run.live?.abandon(run.aborted);
  if (kind === "Canceled") return pen.end(TaskState.CANCELED);
  if (kind === "DeadlineExceeded") return pen.end(TaskState.FAILED, "the turn took longer than it may");
  // Asked for while the turn was told to stop anyway.
  if (await run.inbox.holdsCancel()) return run.cancelNow();
  const { live } = run;
  if (live !== undefined && run.runtime.restartable) return release(run, live);
  if (live !== undefined) return pen.end(TaskState.FAILED, "the server was shut down before the task was done");
  if ("opening" in subject) subject.opening.failed(shuttingDown());
}

function mayPark({ aborted }: TurnRun): boolean {
  return aborted === undefined || aborted.kind === "Draining";
}

// The record does not say that the turn has ended: whoever waits for its answer goes on waiting.
async function endParked(turn: EndingTurn, park: Park): Promise<void> {
  const { live, inbox, runtime } = turn.run;
  if (live === undefined) return;
  const wakeAt = notTooSoon(turn, park.wakeAt);
  await inbox.endTurn(live, [{ kind: "turnParked" }], { wakeAt });
  if (wakeAt !== undefined) runtime.alarm.at(wakeAt);
}

// An agent that parks for a time that has passed, each time it is woken, would go round and round.
function notTooSoon({ run, begun }: EndingTurn, wakeAt: number | undefined): number | undefined {
  if (wakeAt === undefined || run.start.cause === "message") return wakeAt;
  return Math.max(wakeAt, begun + run.runtime.limits.wakePauseMs);
}

// The task stays with this process, which goes: then others run its turn again.
async function release(run: TurnRun, live: LiveTask): Promise<void> {
  await live.exclusive([{ kind: "turnReleased" }], recordBytes, {});
  live.abandon(run.aborted);
}

async function endFailed(turn: EndingTurn, error: unknown): Promise<void> {
  const { run, pen, subject, silent } = turn;
  if (!(error instanceof A2AError)) return pen.end(TaskState.FAILED, masked(run, error));
  if (error.code === "invalidAgentResponse") {
    run.runtime.logger.error({ taskId: run.taskId, error }, "the agent emitted what cannot be sent");
  }
  if (!silent) return pen.end(TaskState.FAILED, error.message);
  if (run.live !== undefined) return refuse(turn, run.live, error);
  if ("opening" in subject) subject.opening.failed(error);
}

// The task stays as it was before the message: parked, or waiting for its caller. A turn without a message has nobody to
// refuse.
function refuse({ run, pen }: EndingTurn, live: LiveTask, error: A2AError): Promise<void> {
  const wasParked = !isInterrupted(live.state);
  if (wasParked && run.start.cause !== "message") return pen.end(TaskState.FAILED, error.message);
  const ended = [{ kind: "turnEnded", error: recordedError(error) }] as const;
  return run.inbox.endTurn(live, ended, wasParked ? { wakeAt: live.wakeAt } : undefined);
}

function masked({ runtime, taskId }: TurnRun, error: unknown): string {
  const reference = runtime.newId();
  runtime.logger.error({ taskId, reference, error }, "the agent failed");
  return `the agent failed (reference ${reference})`;
}
