import type { JsonObject } from "@bufbuild/protobuf";
import type { StreamItem } from "../../protocol/operations.js";
import type { PushAdapter } from "../codec.js";
import { completedTask, statusToJson, taskToJson } from "./write-objects.js";

// Webhooks of 0.1. The protocol does not specify their body; its samples send an event type and a task id. We send both
// as members of the task, so that receivers of either form work.

export const pushAdapter: PushAdapter = {
  mediaType: "application/json",
  tokenHeaders: ["X-A2A-Notification-Token"],
  delivers: "task",
  write: ({ response: { payload } }: StreamItem) => JSON.stringify(writeNotification(payload)),
};

type Payload = StreamItem["response"]["payload"];

function writeNotification(payload: Payload): JsonObject {
  const task = writeTask(payload);
  return { eventType: "taskUpdate", taskId: task["id"] ?? "", ...task };
}

function writeTask(payload: Payload): JsonObject {
  switch (payload.case) {
    case "task":
      return taskToJson(payload.value, { history: false });
    case "message":
      return completedTask(payload.value);
    case "statusUpdate":
      return { id: payload.value.taskId, status: statusToJson(payload.value.status) };
    case "artifactUpdate":
      return { id: payload.value.taskId };
    default:
      return {};
  }
}
