import type { Message as AnyMessage } from "@bufbuild/protobuf";
import {
  type SendMessageRequest,
  type StreamResponse,
  TaskState,
  type TaskStatus,
  type TaskStatusUpdateEvent,
} from "../../protocol/model.js";
import type { Operation } from "../../protocol/operations.js";
import { isInterrupted, isTerminal } from "../../protocol/states.js";

// Streams up to 0.3 say with the status that closes them that nothing more comes: some clients of that time read on for
// ever without it. It belongs to the stream and not to the event, so it is found out along the way.

/** Finds the status that closes one stream. */
export interface StreamFinals {
  /** Takes note of an event; true for the status that the stream closes with. At most once in a stream. */
  isFinal(response: StreamResponse): boolean;
  /** The status that is still to be said, as final, when the stream has ended: the last one known. */
  closing(): TaskStatusUpdateEvent | undefined;
}

/** Watches a stream from its first event to its end. */
export function streamFinals({ name }: Operation, request: AnyMessage): StreamFinals {
  let task: { readonly taskId: string; readonly contextId: string } | undefined;
  let status: TaskStatus | undefined;
  let isSaid = false;
  // A send ends where its task asks for input, unless it asked the sender of an earlier message.
  let isOwnTurn = name === "sendStreamingMessage" && (request as SendMessageRequest).message?.taskId === "";
  return {
    isFinal({ payload }) {
      switch (payload.case) {
        case "task":
          task = { taskId: payload.value.id, contextId: payload.value.contextId };
          status = payload.value.status;
          if (name === "sendStreamingMessage" && isInterrupted(stateOf(status))) isOwnTurn = true;
          return false;
        case "statusUpdate": {
          const { taskId, contextId } = payload.value;
          task = { taskId, contextId };
          status = payload.value.status ?? status;
          const state = stateOf(status);
          const closes = !isSaid && (isTerminal(state) || (isOwnTurn && state === TaskState.INPUT_REQUIRED));
          isSaid ||= closes;
          return closes;
        }
        case "message":
          isSaid = true;
          return false;
        default:
          return false;
      }
    },
    closing() {
      if (isSaid || task === undefined || status === undefined) return undefined;
      isSaid = true;
      return { $typeName: "lf.a2a.v1.TaskStatusUpdateEvent", ...task, status };
    },
  };
}

/** True for an event that no other follows, whether or not its sender says so. */
export function isLastEvent({ payload }: StreamResponse): boolean {
  if (payload.case === "message") return true;
  return payload.case === "statusUpdate" && isTerminal(stateOf(payload.value.status));
}

function stateOf(status: TaskStatus | undefined): TaskState {
  return status?.state ?? TaskState.UNSPECIFIED;
}
