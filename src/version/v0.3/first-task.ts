import { eventIdOf } from "../../protocol/extensions.js";
import { emptyTask } from "../../protocol/fold.js";
import { type StreamResponse, TaskState } from "../../protocol/model.js";
import type { Operation, StreamItem } from "../../protocol/operations.js";

/**
 * Gives the stream of a send the task that it begins with in the model, where a peer begins with an update. Made anew for
 * each stream. The task that is made has the state of the update and not its message, which would be told twice.
 *
 * A stream that goes on behind an event begins with an update too: its events have ids, on the wire or in their metadata. And a subscription begins with
 * what the task is by then, which only the peer can say: neither is given a task.
 */
export function taskFirst({ name }: Operation): (item: StreamItem) => readonly StreamItem[] {
  let isOpen = name !== "sendStreamingMessage";
  return (item) => {
    if (isOpen) return [item];
    isOpen = true;
    const isNumbered = item.id !== undefined || eventIdOf(item.response) !== undefined;
    const made = isNumbered ? undefined : taskOf(item.response);
    return made === undefined ? [item] : [{ response: made }, item];
  };
}

function taskOf({ payload }: StreamResponse): StreamResponse | undefined {
  if (payload.case !== "statusUpdate" && payload.case !== "artifactUpdate") return undefined;
  const task = emptyTask(payload.value.taskId, payload.value.contextId);
  const state = payload.case === "statusUpdate" ? payload.value.status?.state : TaskState.WORKING;
  if (task.status !== undefined) task.status.state = state ?? TaskState.UNSPECIFIED;
  return { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "task", value: task } };
}
