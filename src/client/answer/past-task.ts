import { createStepStream } from "../../protocol/async/steps.js";
import { A2AError } from "../../protocol/errors.js";
import { type Task, TaskState } from "../../protocol/model.js";
import type { StreamItem } from "../../protocol/operations.js";
import { isTerminal } from "../../protocol/states.js";
import { isUnreachable } from "../failures.js";
import { taskItem } from "../stream/task-view.js";

/**
 * The items of a subscription. Agents refuse one to a task that has ended, in many ways; then the only item is the task.
 * Loaded by the first subscription.
 */
export function fallBackToTask(items: AsyncIterable<StreamItem>, read: () => Promise<Task>): AsyncIterable<StreamItem> {
  const source = items[Symbol.asyncIterator]();
  let isNew = true;
  const first = async (): Promise<IteratorResult<StreamItem, undefined>> => {
    try {
      return await source.next();
    } catch (error) {
      if (!(error instanceof A2AError) || isUnreachable(error)) throw error;
      const task = await read();
      if (!isTerminal(task.status?.state ?? TaskState.UNSPECIFIED)) throw error;
      return { done: false, value: taskItem(task) };
    }
  };
  const next = (): Promise<IteratorResult<StreamItem, undefined>> => {
    if (!isNew) return source.next();
    isNew = false;
    return first();
  };
  return createStepStream(next, () => source.return?.());
}
