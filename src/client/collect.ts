import { A2AError } from "../protocol/errors.js";
import { applyEvent, copyTask, emptyTask } from "../protocol/fold.js";
import type { Message, Task } from "../protocol/model.js";
import type { StreamItem } from "../protocol/operations.js";

/**
 * Reads a stream to its end and assembles it: the message that the agent answered with, or the task with its status,
 * history and artifacts. Throws `invalidAgentResponse` for a stream without events.
 */
export async function collect(stream: AsyncIterable<StreamItem>): Promise<Message | Task> {
  let task: Task | undefined;
  for await (const { response } of stream) {
    const { payload } = response;
    if (payload.case === "message") return payload.value;
    if (payload.case === undefined) continue;
    if (payload.case === "task") task = copyTask(payload.value);
    else {
      task ??= emptyTask(payload.value.taskId, payload.value.contextId);
      applyEvent(task, response);
    }
  }
  if (task === undefined) throw new A2AError("invalidAgentResponse", "the agent ended the stream without an event");
  return task;
}
