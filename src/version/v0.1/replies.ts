import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { readJson } from "../../protocol/codec/json/reader.js";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { A2AError } from "../../protocol/errors.js";
import { lastOf } from "../../protocol/fold.js";
import {
  type GetTaskRequest,
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  type SendMessageRequest,
  type SendMessageResponse,
  type Task,
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
  TaskSchema,
} from "../../protocol/model.js";
import type { OperationName } from "../../protocol/operations.js";
import { violationText } from "../../protocol/violations.js";
import { upgradePushConfig } from "./read-params.js";
import { type KnownTask, replyReading, taskIdIn, upgradeTask } from "./read-tasks.js";
import { completedTask, taskToJson } from "./write-objects.js";

// Replies of 0.1 ⇄ those of the model.

export function sendReplyToJson({ payload }: SendMessageResponse): JsonObject {
  return payload.case === "message" ? completedTask(payload.value) : taskReplyToJson(payload.value);
}

/** Returns the task in reply to a send or a get. The core limits the history. */
export function taskReplyToJson(task: Task | undefined): JsonObject {
  return taskToJson(task ?? create(TaskSchema), { history: true });
}

export function sendReplyFromJson(json: JsonValue | undefined, request?: SendMessageRequest): SendMessageResponse {
  const { message, configuration } = request ?? {};
  const known = { taskId: message?.taskId ?? "", contextId: message?.contextId ?? "" };
  const task = taskFromJson("sendMessage", json, { known, historyLength: configuration?.historyLength });
  return { $typeName: "lf.a2a.v1.SendMessageResponse", payload: { case: "task", value: task } };
}

export function getReplyFromJson(json: JsonValue | undefined, request?: GetTaskRequest): Task {
  const known = { taskId: request?.id ?? "", contextId: "" };
  return taskFromJson("getTask", json, { known, historyLength: request?.historyLength });
}

interface TaskReading {
  readonly known: KnownTask;
  readonly historyLength?: number | undefined;
}

/** Reads a task. Cuts the history to the requested length, since some agents send all of it when none is requested. */
export function taskFromJson(operation: OperationName, json: JsonValue | undefined, reading: TaskReading): Task {
  const { known, historyLength } = reading;
  if (!isJsonObject(json)) throw unreadable(operation, "it is no task");
  if (taskIdIn(json, known) === "" || !isJsonObject(json["status"])) {
    throw unreadable(operation, "it is no task: it needs an id and a status");
  }
  const { message, violations } = readJson(TaskSchema, upgradeTask(json, known), { lenient: true });
  const [first] = violations;
  if (first !== undefined) throw unreadable(operation, violationText(first));
  message.history = lastOf(message.history, historyLength);
  return message;
}

/** Reads the configuration of a task, or an empty one if there is none. Takes what the agent omits from `known`. */
export function configFromJson(
  operation: OperationName,
  json: JsonValue | undefined,
  known: TaskPushNotificationConfig,
): TaskPushNotificationConfig {
  if (!isJsonObject(json)) throw unreadable(operation, "it is no push configuration");
  const id = taskIdIn(json, { taskId: known.taskId, contextId: "" });
  const config = json["pushNotificationConfig"] ?? {};
  const reading = replyReading(id);
  const upgraded = upgradePushConfig(config, "pushNotificationConfig", { id, reading });
  const { message, violations } = readJson(TaskPushNotificationConfigSchema, upgraded, { lenient: true });
  const [first] = [...reading.violations, ...violations];
  if (first !== undefined) throw unreadable(operation, violationText(first));
  const { url, token, authentication } = message.url === "" ? known : message;
  const read = create(TaskPushNotificationConfigSchema, { id, taskId: id, url, token });
  if (authentication !== undefined) read.authentication = authentication;
  return read;
}

export function configsFromJson(
  json: JsonValue | undefined,
  request?: ListTaskPushNotificationConfigsRequest,
): ListTaskPushNotificationConfigsResponse {
  const nothing = create(TaskPushNotificationConfigSchema, { taskId: request?.taskId ?? "" });
  const config = configFromJson("listTaskPushNotificationConfigs", json, nothing);
  const configs = config.url === "" ? [] : [config];
  return { $typeName: "lf.a2a.v1.ListTaskPushNotificationConfigsResponse", configs, nextPageToken: "" };
}

function unreadable(operation: OperationName, reason: string): A2AError {
  return new A2AError("invalidAgentResponse", `the agent's answer to ${operation} cannot be read: ${reason}`);
}
