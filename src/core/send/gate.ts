import { A2AError } from "../../protocol/errors.js";
import { TaskState } from "../../protocol/model.js";
import { endsBlockingSend, isTerminal } from "../../protocol/states.js";
import type { LogRecord } from "../ports.js";
import { isFromSend, type SendKey } from "../read/read-task.js";
import type { GateResult } from "../read/subscribe.js";
import { readState, restoreError } from "../task/record.js";

/**
 * When a send is answered. `stop`: at the first terminal or interrupted state after its message. `stream`: the same,
 * except at AUTH_REQUIRED while the turn lives. `created`: when the task exists. `taken`: when a turn has taken the
 * message. `progressed`: when it has also written an event, so that the task no longer shows the question that the message
 * answers.
 */
export type SendMode = "stop" | "stream" | "created" | "taken" | "progressed";

/** Sees a task's records in order and decides at which of them a send is answered. */
export type SendGate = (record: LogRecord) => GateResult;

/** `isTaken`: the message was already taken. */
export function createSendGate(sentKey: SendKey, mode: SendMode, isTaken = false): SendGate {
  let taken = isTaken;
  // Whether the running turn was started for the message or has taken it: only such a turn's error is the send's answer.
  let isOwn = isTaken;
  return (record) => {
    switch (record.kind) {
      case "message":
        if (!isFromSend(record, sentKey)) return undefined;
        taken = true;
        isOwn = true;
        return mode === "taken" ? "answer" : undefined;
      case "turnEnded":
        if (!taken || (!isOwn && record.error !== undefined)) return undefined;
        return record.error === undefined ? "answer" : { error: restoreError(record.error) };
      case "turnStarted":
        if (record.cause !== "restart") isOwn = false;
        return undefined;
      case "event":
        return taken ? judgeEvent(record, mode) : judgeBefore(record);
      default:
        return undefined;
    }
  };
}

// The message has not been taken yet, so a task that ends now never takes it.
function judgeBefore(record: LogRecord & { readonly kind: "event" }): GateResult {
  const state = readState(record);
  if (state === undefined || !isTerminal(state)) return undefined;
  const { payload } = record.event;
  return { error: messageNotTaken(payload.case === "statusUpdate" ? payload.value.taskId : "") };
}

function judgeEvent(record: LogRecord & { readonly kind: "event" }, mode: SendMode): GateResult {
  const state = readState(record);
  if (mode === "created" || mode === "progressed") return "answer";
  if (state === undefined || !endsBlockingSend(state)) return undefined;
  return mode === "stream" && state === TaskState.AUTH_REQUIRED ? undefined : "answer";
}

/** The error for a message that its task did not take before it ended. */
export function messageNotTaken(taskId: string): A2AError {
  return new A2AError("unsupportedOperation", "the task ended before it took the message", { metadata: { taskId } });
}
