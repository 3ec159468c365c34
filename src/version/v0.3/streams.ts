import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { readEventId } from "../../protocol/extensions.js";
import { emptyTask } from "../../protocol/fold.js";
import {
  type SendMessageRequest,
  type StreamResponse,
  type Task,
  TaskState,
  type TaskStatus,
  typeNames,
} from "../../protocol/model.js";
import type { Operation, StreamItem } from "../../protocol/operations.js";
import { isInterrupted, isTerminal } from "../../protocol/states.js";
import type { EventHead, StreamReader, StreamWriter, WireEvent } from "../codec.js";

// Streams of 0.3. A server sends exactly one final status, at the end: without it some clients of that time wait forever.
// The mark belongs to the stream and not to the event, so `closingWriter` decides it for each stream: the status that is
// terminal, or asks the caller of a send; if the stream ends without one, the last status is repeated as final. A client
// (`closingReader`) begins with a task and ends with the final event, whatever the peer sends around them.

/** Server end of a stream. Sends exactly one final status, after the last event if necessary. */
export function closingWriter<T>(
  { name }: Operation,
  request: AnyMessage,
  encode: (item: StreamItem, final: boolean) => T,
): StreamWriter<T> {
  let task: { readonly taskId: string; readonly contextId: string } | undefined;
  let status: TaskStatus | undefined;
  let isClosed = false;
  // A send ends when its task asks for input, unless the question is for the sender of an earlier message.
  let isOwnTurn = name === "sendStreamingMessage" && (request as SendMessageRequest).message?.taskId === "";

  /** Notes an event. Returns true for the closing status, at most once. */
  function isFinal({ payload }: StreamResponse): boolean {
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
  }

  return {
    write: (item) => [{ payload: encode(item, isFinal(item.response)), id: item.id }],
    end(): readonly WireEvent<T>[] {
      if (isClosed || task === undefined || status === undefined) return [];
      isClosed = true;
      const value = { $typeName: typeNames.TaskStatusUpdateEvent, ...task, status };
      const response: StreamResponse = {
        $typeName: typeNames.StreamResponse,
        payload: { case: "statusUpdate", value },
      };
      return [{ payload: encode({ response }, true) }];
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

/** An event read from the wire. */
export interface ReadEvent {
  readonly response: StreamResponse;
  /** Whether the sender marked it as the last event. */
  readonly final: boolean;
}

/** Client end of a stream. Skips events of unknown kinds and any after the last. */
export function closingReader<T>(
  operation: Operation,
  request: AnyMessage | undefined,
  readEvent: (payload: T, head: EventHead | undefined) => ReadEvent,
): StreamReader<T> {
  const begin = emitTaskFirst(operation);
  let isOver = false;
  return {
    read(payload, head): readonly StreamItem[] {
      if (isOver) return [];
      const { response, final } = readEvent(payload, head);
      if (response.payload.case === undefined) return [];
      if (response.payload.case === "task") withoutHistory(response.payload.value, request);
      isOver = final || isLastEvent(response);
      return begin({ response, id: resumePoint(head?.id) });
    },
    get isOver() {
      return isOver;
    },
  };
}

/**
 * Prepends a task to the stream of a send whose peer begins with an update, since the model's streams begin with a
 * task. Create one per stream. The task has the state of the update but not its message, which would appear twice.
 *
 * A resumed stream also begins with an update; its events have ids, on the wire or in their metadata. A subscription
 * begins with the current task, which only the peer knows. Neither gets a task.
 */
export function emitTaskFirst({ name }: Operation): (item: StreamItem) => readonly StreamItem[] {
  let isOpen = name !== "sendStreamingMessage";
  return (item) => {
    if (isOpen) return [item];
    isOpen = true;
    const isNumbered = item.id !== undefined || readEventId(item.response) !== undefined;
    const task = isNumbered ? undefined : createTask(item.response);
    return task === undefined ? [item] : [{ response: task }, item];
  };
}

function createTask({ payload }: StreamResponse): StreamResponse | undefined {
  if (payload.case !== "statusUpdate" && payload.case !== "artifactUpdate") return undefined;
  const task = emptyTask(payload.value.taskId, payload.value.contextId);
  const state = payload.case === "statusUpdate" ? payload.value.status?.state : TaskState.WORKING;
  if (task.status !== undefined) task.status.state = state ?? TaskState.UNSPECIFIED;
  return { $typeName: typeNames.StreamResponse, payload: { case: "task", value: task } };
}

/**
 * Returns an event id if a stream can resume after it. Some servers use timestamps as ids, with duplicates, and cannot
 * resume after any of them, so numeric ids are dropped.
 */
export function resumePoint(id: string | undefined): string | undefined {
  return id === undefined || /^\d*$/.test(id) ? undefined : id;
}

/** Clears the history of a task if the caller requested none, which 0.3's schema cannot express to the agent. */
export function withoutHistory(task: Task, request: AnyMessage | undefined): void {
  if (request !== undefined && readHistoryLength(request) === 0) task.history = [];
}

interface HistoryOption {
  readonly historyLength?: number;
}

function readHistoryLength(
  request: AnyMessage & HistoryOption & { readonly configuration?: HistoryOption },
): number | undefined {
  const { historyLength, configuration } = request;
  return configuration?.historyLength ?? historyLength;
}
