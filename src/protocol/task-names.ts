import type { Principal } from "./context.js";
import { A2AError } from "./errors.js";
import type { Message, StreamResponse, Task, TaskStatus } from "./model.js";

// Callers of some versions choose the names of their tasks. A name stands for one task of its owner, whose id is made here.
// Such a version's adapter replaces names by ids in requests, and ids by names in answers; webhooks get names too. All
// others pass a name on: `ServerContext.taskName` from a call to the first write of its task (`NewTask.name`), or to its
// push configuration.
//
// A name is a column of its task's row, with a unique index over the named tasks of each owner. It has no table of its own:
//
// - A task and its name must be stored together or not at all. On PostgreSQL one statement creates the tasks of many callers
//   and leaves out each one whose id or name exists. The parts of a statement do not see each other's rows, so with two tables
//   it could take back neither a task whose name is refused nor a name whose task is, and an error would fail every write
//   of the flush.
// - Two releases could not share the table: the one before writes and checks the column alone, so two tasks could get one
//   name, unless both are written until that release is gone.
// - The adapter does not make the first write: the core does, in the turn. So the name passes from the call through the turn
//   to that write wherever it is stored.
//
// Objects shown to such a caller are shared with others, so they are copied, but only along the path to the name.

/** Maps the names that callers gave their tasks to ids. */
export interface TaskNames {
  /** Returns the id of the task with the caller's name, or `undefined`. */
  find(principal: Principal, name: string): Promise<string | undefined>;
}

/**
 * A new task was refused because another one has its name meanwhile. Nothing was written and no agent has seen the
 * message, so it may be sent again to that task.
 */
export class NameTaken extends A2AError {
  constructor(cause?: unknown) {
    super("unavailable", "another task is being made under this name, try again", { cause, retryAfterMs: 1000 });
  }
}

export function messageUnderName(message: Message, name: string): Message {
  return message.taskId === "" ? message : { ...message, taskId: name };
}

export function taskUnderName(task: Task, name: string): Task {
  const { status } = task;
  const history = task.history.map((message) => messageUnderName(message, name));
  const copy = { ...task, id: name, history };
  return status === undefined ? copy : { ...copy, status: statusUnderName(status, name) };
}

function statusUnderName(status: TaskStatus, name: string): TaskStatus {
  return status.message === undefined ? status : { ...status, message: messageUnderName(status.message, name) };
}

export function responseUnderName(response: StreamResponse, name: string): StreamResponse {
  const { payload } = response;
  switch (payload.case) {
    case "task":
      return { ...response, payload: { case: "task", value: taskUnderName(payload.value, name) } };
    case "message":
      return { ...response, payload: { case: "message", value: messageUnderName(payload.value, name) } };
    case "statusUpdate": {
      const { status } = payload.value;
      const value = { ...payload.value, taskId: name };
      if (status !== undefined) value.status = statusUnderName(status, name);
      return { ...response, payload: { case: "statusUpdate", value } };
    }
    case "artifactUpdate":
      return { ...response, payload: { case: "artifactUpdate", value: { ...payload.value, taskId: name } } };
    case undefined:
      return response;
    default:
      return payload satisfies never;
  }
}
