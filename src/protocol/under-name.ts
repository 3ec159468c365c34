import type { Message, StreamResponse, Task, TaskStatus } from "./model.js";

// A task as it is shown to a caller who knows it by an own name instead of its id. What is shown is shared with
// others, so it is copied as far as the name stands in it, and no further.

export function messageUnderName(message: Message, name: string): Message {
  return message.taskId === "" ? message : { ...message, taskId: name };
}

export function taskUnderName(task: Task, name: string): Task {
  const { status } = task;
  const history = task.history.map((message) => messageUnderName(message, name));
  const named = { ...task, id: name, history };
  return status === undefined ? named : { ...named, status: statusUnderName(status, name) };
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
