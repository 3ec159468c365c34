import { A2AError } from "../../protocol/errors.js";
import { type StreamResponse, TaskState } from "../../protocol/model.js";
import { isStop, isTerminal } from "../../protocol/states.js";
import type { LogRecord } from "../ports.js";
import { isSent, type SentKey } from "../read/read-task.js";
import type { Verdict } from "../read/subscribe.js";
import { readState, restoreError } from "../task/record.js";

/**
 * When a send is answered. `stop`: at the first terminal or interrupted state after its message. `stream`: the same,
 * except at AUTH_REQUIRED while the turn lives. `created`: when the task exists. `taken`: when a turn has taken the
 * message. `moved`: when it has also written an event, so that the task no longer shows the question that the message
 * answers.
 */
export type SendMode = "stop" | "stream" | "created" | "taken" | "moved";

/** Follows a task's records for one send and decides when it is answered. */
export interface SendGate {
  see(record: LogRecord): Verdict;
}

interface GateState {
  readonly sentKey: SentKey;
  readonly mode: SendMode;
  taken: boolean;
  /**
   * Whether the running turn was started for the message or has taken it: only such a turn's error is the send's
   * answer.
   */
  isOwn: boolean;
}

/** `armed`: the message was already taken. */
export function createSendGate(sentKey: SentKey, mode: SendMode, armed = false): SendGate {
  const state: GateState = { sentKey, mode, taken: armed, isOwn: armed };
  return { see: (record) => judge(state, record) };
}

function judge(state: GateState, record: LogRecord): Verdict {
  const { sentKey, mode, taken, isOwn } = state;
  switch (record.kind) {
    case "message":
      if (!isSent(record, sentKey)) return undefined;
      state.taken = true;
      state.isOwn = true;
      return mode === "taken" ? "answer" : undefined;
    case "turnEnded":
      return taken && (isOwn || record.error === undefined) ? readEnd(record) : undefined;
    case "turnStarted":
      if (record.cause !== "restart") state.isOwn = false;
      return undefined;
    case "event":
      return taken ? judgeEvent(record, mode) : judgeBefore(record);
    default:
      return undefined;
  }
}

// The message has not been taken yet, so a task that ends now never takes it.
function judgeBefore(record: LogRecord & { readonly kind: "event" }): Verdict {
  const state = readState(record);
  return state !== undefined && isTerminal(state) ? { error: messageNotTaken(readTaskId(record.event)) } : undefined;
}

function judgeEvent(record: LogRecord & { readonly kind: "event" }, mode: SendMode): Verdict {
  const state = readState(record);
  if (mode === "created" || mode === "moved") return "answer";
  if (state === undefined || !isStop(state)) return undefined;
  return mode === "stream" && state === TaskState.AUTH_REQUIRED ? undefined : "answer";
}

function readTaskId({ payload }: StreamResponse): string {
  return payload.case === "statusUpdate" ? payload.value.taskId : "";
}

function readEnd({ error }: LogRecord & { readonly kind: "turnEnded" }): Verdict {
  return error === undefined ? "answer" : { error: restoreError(error) };
}

/** The error for a message that its task did not take before it ended. */
export function messageNotTaken(taskId: string): A2AError {
  return new A2AError("unsupportedOperation", "the task ended before it took the message", { metadata: { taskId } });
}
