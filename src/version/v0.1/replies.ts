import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { readJson } from "../../protocol/codec/json/reader.js";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { takeLast } from "../../protocol/fold.js";
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
import { unreadableReply } from "../codec-errors.js";
import { upgradePushConfig } from "./read-params.js";
import { type NamedTask, replyContext, taskIdIn, upgradeTask } from "./read-tasks.js";
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
  const namedTask = { taskId: message?.taskId ?? "", contextId: message?.contextId ?? "" };
  const task = taskFromJson("sendMessage", json, { namedTask, historyLength: configuration?.historyLength });
  return { $typeName: "lf.a2a.v1.SendMessageResponse", payload: { case: "task", value: task } };
}

export function getReplyFromJson(json: JsonValue | undefined, request?: GetTaskRequest): Task {
  const namedTask = { taskId: request?.id ?? "", contextId: "" };
  return taskFromJson("getTask", json, { namedTask, historyLength: request?.historyLength });
}

interface TaskReading {
  readonly namedTask: NamedTask;
  readonly historyLength?: number | undefined;
}

/** Reads a task. Cuts the history to the requested length, since some agents send all of it when none is requested. */
export function taskFromJson(operation: OperationName, json: JsonValue | undefined, reading: TaskReading): Task {
  const { namedTask, historyLength } = reading;
  if (!isJsonObject(json)) throw unreadableReply(operation, "it is not a task");
  if (taskIdIn(json, namedTask) === "" || !isJsonObject(json["status"])) {
    throw unreadableReply(operation, "it is not a task: it needs an id and a status");
  }
  const { message, violations } = readJson(TaskSchema, upgradeTask(json, namedTask), { lenient: true });
  const [violation] = violations;
  if (violation !== undefined) throw unreadableReply(operation, violationText(violation));
  message.history = takeLast(message.history, historyLength);
  return message;
}

/** Reads the configuration of a task, or an empty one if there is none. Members that the agent omits have `defaults`. */
export function configFromJson(
  operation: OperationName,
  json: JsonValue | undefined,
  defaults: TaskPushNotificationConfig,
): TaskPushNotificationConfig {
  if (!isJsonObject(json)) throw unreadableReply(operation, "it is not a push configuration");
  const id = taskIdIn(json, { taskId: defaults.taskId, contextId: "" });
  const config = json["pushNotificationConfig"] ?? {};
  const context = replyContext(id);
  const configOfModel = upgradePushConfig(config, "pushNotificationConfig", { id, context });
  const { message, violations } = readJson(TaskPushNotificationConfigSchema, configOfModel, { lenient: true });
  const [violation] = [...context.violations, ...violations];
  if (violation !== undefined) throw unreadableReply(operation, violationText(violation));
  const { url, token, authentication } = message.url === "" ? defaults : message;
  const result = create(TaskPushNotificationConfigSchema, { id, taskId: id, url, token });
  if (authentication !== undefined) result.authentication = authentication;
  return result;
}

export function configsFromJson(
  json: JsonValue | undefined,
  request?: ListTaskPushNotificationConfigsRequest,
): ListTaskPushNotificationConfigsResponse {
  const emptyConfig = create(TaskPushNotificationConfigSchema, { taskId: request?.taskId ?? "" });
  const config = configFromJson("listTaskPushNotificationConfigs", json, emptyConfig);
  const configs = config.url === "" ? [] : [config];
  return { $typeName: "lf.a2a.v1.ListTaskPushNotificationConfigsResponse", configs, nextPageToken: "" };
}
