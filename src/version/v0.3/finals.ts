import type { Message as AnyMessage } from "@bufbuild/protobuf";
import {
  type SendMessageRequest,
  type StreamResponse,
  TaskState,
  type TaskStatus,
  type TaskStatusUpdateEvent,
  typeNames,
} from "../../protocol/model.js";
import type { Operation } from "../../protocol/operations.js";
import { isInterrupted, isTerminal } from "../../protocol/states.js";

// Streams up to 0.3 mark their closing status as final; without it some clients of that time wait forever. The mark
// belongs to the stream and not to the event, so it is computed per stream.

/** Finds the status that closes one stream. */
export interface StreamFinals {
  /** Records an event and returns true if it is the closing status. True at most once per stream. */
  isFinal(response: StreamResponse): boolean;
  /** Returns the last known status, to be sent as final, if the stream ended without a closing status. */
  closing(): TaskStatusUpdateEvent | undefined;
}

/** Tracks a stream from its first event to its end. */
export function streamFinals({ name }: Operation, request: AnyMessage): StreamFinals {
  let task: { readonly taskId: string; readonly contextId: string } | undefined;
  let status: TaskStatus | undefined;
  let isClosed = false;
  // A send ends when its task asks for input, unless the question is for the sender of an earlier message.
  let isOwnTurn = name === "sendStreamingMessage" && (request as SendMessageRequest).message?.taskId === "";
  return {
    isFinal({ payload }) {
      switch (payload.case) {
        case "task":
          task = { taskId: payload.value.id, contextId: payload.value.contextId };
          status = payload.value.status;
          if (name === "sendStreamingMessage" && isInterrupted(readState(status))) isOwnTurn = true;
          return false;
        case "statusUpdate": {
          const { taskId, contextId } = payload.value;
          task = { taskId, contextId };
          status = payload.value.status ?? status;
          const state = readState(status);
          const closes = !isClosed && (isTerminal(state) || (isOwnTurn && state === TaskState.INPUT_REQUIRED));
          isClosed ||= closes;
          return closes;
        }
        case "message":
          isClosed = true;
          return false;
        default:
          return false;
      }
    },
    closing() {
      if (isClosed || task === undefined || status === undefined) return undefined;
      isClosed = true;
      return { $typeName: typeNames.TaskStatusUpdateEvent, ...task, status };
    },
  };
}

/** True for an event that is always the last, whether or not it is marked as final. */
export function isLastEvent({ payload }: StreamResponse): boolean {
  if (payload.case === "message") return true;
  return payload.case === "statusUpdate" && isTerminal(readState(payload.value.status));
}

function readState(status: TaskStatus | undefined): TaskState {
  return status?.state ?? TaskState.UNSPECIFIED;
}
