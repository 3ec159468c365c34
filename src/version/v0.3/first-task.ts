import { readEventId } from "../../protocol/extensions.js";
import { emptyTask } from "../../protocol/fold.js";
import { type StreamResponse, TaskState, typeNames } from "../../protocol/model.js";
import type { Operation, StreamItem } from "../../protocol/operations.js";

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
