import type { JsonObject } from "@bufbuild/protobuf";
import type { StreamResponse } from "../../protocol/model.js";
import type { PushAdapter } from "../codec.js";
import { completedTask, statusToJson, taskToJson } from "./write-objects.js";

// Webhooks of 0.1. The protocol does not specify their body; its samples send an event type and a task id. We send both
// as members of the task, so that receivers of either form work.

export const pushAdapter: PushAdapter = {
  mediaType: "application/json",
  tokenHeaders: ["X-A2A-Notification-Token"],
  delivers: "task",
  write({ response }) {
    const task = writeTask(response);
    return JSON.stringify({ eventType: "taskUpdate", taskId: task["id"] ?? "", ...task });
  },
};

function writeTask({ payload }: StreamResponse): JsonObject {
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
