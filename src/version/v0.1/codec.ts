import { type Message as AnyMessage, create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { validateRead } from "../../protocol/check/validate.js";
import { readJson } from "../../protocol/codec/json/reader.js";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { type FieldViolation, invalidParams, taskNotFound } from "../../protocol/errors.js";
import { takeLast } from "../../protocol/fold.js";
import { randomUuid } from "../../protocol/id/random-uuid.js";
import {
  type CancelTaskRequest,
  type DeleteTaskPushNotificationConfigRequest,
  type GetTaskPushNotificationConfigRequest,
  type GetTaskRequest,
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  type SendMessageRequest,
  type SendMessageResponse,
  type SubscribeToTaskRequest,
  type Task,
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
  TaskSchema,
  typeNames,
} from "../../protocol/model.js";
import {
  findOperation,
  type Operation,
  type OperationName,
  operations,
  type ReplyOf,
  type RequestOf,
} from "../../protocol/operations.js";
import type { ValidationLimits } from "../../protocol/validation-limits.js";
import { mergeViolations, violationText } from "../../protocol/violations.js";
import type { OperationCodec } from "../codec.js";
import { unreadableReply } from "../codec-errors.js";
import { foreignNamesIn } from "../foreign-names.js";
import type { UpgradeContext } from "./read-objects.js";
import { findUpgrade, oldField, upgradePushConfig } from "./read-params.js";
import { type NamedTask, replyContext, taskIdIn, upgradeTask } from "./read-tasks.js";
import { readEvent } from "./stream-reader.js";
import { eventToJson } from "./stream-writer.js";
import { toModes } from "./words.js";
import { completedTask, messageToJson, pushConfigToJson, taskToJson } from "./write-objects.js";

// The codec of 0.1: a row of converters for each operation, then replies in both directions, then requests as params.
// Requests are read by `read-params.ts` into the JSON of 1.0, which the reader of 1.0 checks; its violations get 0.1's names.

/** The converters of one operation, typed by the model. */
interface Row<K extends OperationName> {
  writeRequest(request: RequestOf<K>): JsonObject;
  readReply(json: JsonValue | undefined, request: RequestOf<K> | undefined): ReplyOf<K>;
  writeReply(reply: ReplyOf<K>): JsonObject;
}

type Rows = { readonly [K in OperationName]?: Row<K> };

const getConfig = findOperation("getTaskPushNotificationConfig");

const rows: Rows = {
  sendMessage: { writeRequest: sendToParams, readReply: sendReplyFromJson, writeReply: sendReplyToJson },
  // A stream replies with one of its events.
  sendStreamingMessage: { writeRequest: sendToParams, readReply: readEvent, writeReply: eventToJson },
  subscribeToTask: { writeRequest: subscribeToParams, readReply: readEvent, writeReply: eventToJson },
  getTask: { writeRequest: getToParams, readReply: getReplyFromJson, writeReply: taskReplyToJson },
  cancelTask: {
    writeRequest: cancelToParams,
    readReply: (json, request) =>
      taskFromJson("cancelTask", json, { namedTask: { taskId: request?.id ?? "", contextId: "" } }),
    writeReply: (task) => taskToJson(task, { history: false }),
  },
  createTaskPushNotificationConfig: {
    writeRequest: configToJson,
    readReply: (json, request) =>
      configFromJson("createTaskPushNotificationConfig", json, request ?? create(TaskPushNotificationConfigSchema)),
    writeReply: configToJson,
  },
  getTaskPushNotificationConfig: {
    writeRequest: configToParams,
    readReply(json, request) {
      const { taskId = "" } = request ?? {};
      const emptyConfig = create(TaskPushNotificationConfigSchema, { taskId });
      const config = configFromJson("getTaskPushNotificationConfig", json, emptyConfig);
      if (config.url === "") throw taskNotFound(taskId);
      return config;
    },
    writeReply: configToJson,
  },
  // A task has at most one configuration, so the list holds at most one. Setting `null` deletes it.
  listTaskPushNotificationConfigs: {
    writeRequest: configToParams,
    readReply: configsFromJson,
    writeReply: ({ configs: [config = create(TaskPushNotificationConfigSchema)] }) => configToJson(config),
  },
  deleteTaskPushNotificationConfig: {
    writeRequest: deleteToParams,
    readReply: () => ({ $typeName: "google.protobuf.Empty" }),
    writeReply: () => ({ pushNotificationConfig: null }),
  },
};

/** A row whose operation is known only at run time. */
interface AnyRow {
  writeRequest(request: AnyMessage): JsonObject;
  readReply(json: JsonValue | undefined, request: AnyMessage | undefined): AnyMessage;
  writeReply(reply: AnyMessage): JsonObject;
}

/** Creates the JSON codecs of the operations in 0.1. */
export function v01Codecs(limits: ValidationLimits): (operation: Operation) => OperationCodec {
  const codecs = new Map(operations.map((operation) => [operation.name, createCodec(operation, limits)]));
  return ({ name }) => {
    const codec = codecs.get(name);
    if (codec === undefined) throw new TypeError(`no operation ${name} in this version`);
    return codec;
  };
}

function createCodec(operation: Operation, limits: ValidationLimits): OperationCodec | undefined {
  const row: AnyRow | undefined = rows[operation.name];
  if (row === undefined) return undefined;
  return {
    readRequest: (json) => readParams(operation, json, limits),
    writeRequest: (request) => row.writeRequest(request),
    readReply: (json, request) => row.readReply(json, request),
    writeReply: (reply) => row.writeReply(reply),
  };
}

/** Reads params strictly. Violations use 0.1's field names. */
function readParams(operation: Operation, json: JsonValue | undefined, limits: ValidationLimits): AnyMessage {
  const { name, input } = operation;
  const params = json ?? {};
  // An explicit `null` removes the task's configuration.
  if (
    name === "createTaskPushNotificationConfig" &&
    isJsonObject(params) &&
    params["pushNotificationConfig"] === null
  ) {
    const { taskId } = readParams(getConfig, params, limits) as RequestOf<"getTaskPushNotificationConfig">;
    return create(TaskPushNotificationConfigSchema, { taskId, id: taskId });
  }
  const context: UpgradeContext = { violations: [], lenient: false, mintId: randomUuid };
  const request = isJsonObject(params) ? (findUpgrade(name)?.(params, context) ?? params) : params;
  const { message, violations } = readJson(input, request, { maxDepth: limits.jsonDepthMax });
  const invalid = validateRead(input, message, limits);
  const oldViolations = mergeViolations(violations, invalid).map(({ field, description }) => ({
    field: oldField(name, field),
    description,
  }));
  const all = [...foreignNamesIn("0.1", name, json), ...mergeViolations(context.violations, oldViolations)];
  if (all.length > 0) throw invalidParams(...oncePerField(all));
  return message;
}

// Several fields of 1.0 may come from one member of 0.1.
function oncePerField(violations: readonly FieldViolation[]): readonly FieldViolation[] {
  return violations.filter(({ field }, index) => violations.findIndex((other) => other.field === field) === index);
}

// Replies of 0.1 ⇄ those of the model.

function sendReplyToJson({ payload }: SendMessageResponse): JsonObject {
  return payload.case === "message" ? completedTask(payload.value) : taskReplyToJson(payload.value);
}

/** Returns the task in reply to a send or a get. The core limits the history. */
function taskReplyToJson(task: Task | undefined): JsonObject {
  return taskToJson(task ?? create(TaskSchema), { history: true });
}

function sendReplyFromJson(json: JsonValue | undefined, request?: SendMessageRequest): SendMessageResponse {
  const { message, configuration } = request ?? {};
  const namedTask = { taskId: message?.taskId ?? "", contextId: message?.contextId ?? "" };
  const task = taskFromJson("sendMessage", json, { namedTask, historyLength: configuration?.historyLength });
  return { $typeName: typeNames.SendMessageResponse, payload: { case: "task", value: task } };
}

function getReplyFromJson(json: JsonValue | undefined, request?: GetTaskRequest): Task {
  const namedTask = { taskId: request?.id ?? "", contextId: "" };
  return taskFromJson("getTask", json, { namedTask, historyLength: request?.historyLength });
}

interface TaskReading {
  readonly namedTask: NamedTask;
  readonly historyLength?: number | undefined;
}

/** Reads a task. Cuts the history to the requested length, since some agents send all of it when none is requested. */
function taskFromJson(operation: OperationName, json: JsonValue | undefined, reading: TaskReading): Task {
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
function configFromJson(
  operation: OperationName,
  json: JsonValue | undefined,
  defaults: TaskPushNotificationConfig,
): TaskPushNotificationConfig {
  if (!isJsonObject(json)) throw unreadableReply(operation, "it is not a push configuration");
  const id = taskIdIn(json, { taskId: defaults.taskId, contextId: "" });
  const config = json["pushNotificationConfig"] ?? {};
  const context = replyContext(id);
  const modelConfig = upgradePushConfig(config, "pushNotificationConfig", { id, context });
  const { message, violations } = readJson(TaskPushNotificationConfigSchema, modelConfig, { lenient: true });
  const [violation] = [...context.violations, ...violations];
  if (violation !== undefined) throw unreadableReply(operation, violationText(violation));
  const { url, token, authentication } = message.url === "" ? defaults : message;
  const result = create(TaskPushNotificationConfigSchema, { id, taskId: id, url, token });
  if (authentication !== undefined) result.authentication = authentication;
  return result;
}

function configsFromJson(
  json: JsonValue | undefined,
  request?: ListTaskPushNotificationConfigsRequest,
): ListTaskPushNotificationConfigsResponse {
  const emptyConfig = create(TaskPushNotificationConfigSchema, { taskId: request?.taskId ?? "" });
  const config = configFromJson("listTaskPushNotificationConfigs", json, emptyConfig);
  const configs = config.url === "" ? [] : [config];
  return { $typeName: typeNames.ListTaskPushNotificationConfigsResponse, configs, nextPageToken: "" };
}

// Requests of the model → params of 0.1.

/** A length that covers any history: 0.1 returns none unless a number is given. */
const allHistory = 1_000;

function sendToParams({ message, configuration, metadata }: SendMessageRequest): JsonObject {
  const { acceptedOutputModes = [], historyLength = 0, taskPushNotificationConfig: config } = configuration ?? {};
  const modes = [...new Set(acceptedOutputModes.flatMap(toModes))];
  const params: JsonObject = { id: message?.taskId ?? "" };
  if (message !== undefined && message.contextId !== "") params["sessionId"] = message.contextId;
  if (message !== undefined) params["message"] = messageToJson(message);
  if (modes.length > 0) params["acceptedOutputModes"] = modes;
  if (config !== undefined) params["pushNotification"] = pushConfigToJson(config);
  if (historyLength !== 0) params["historyLength"] = historyLength;
  if (metadata !== undefined) params["metadata"] = metadata;
  return params;
}

function getToParams({ id, historyLength = allHistory }: GetTaskRequest): JsonObject {
  return historyLength === 0 ? { id } : { id, historyLength };
}

function cancelToParams({ id, metadata }: CancelTaskRequest): JsonObject {
  return metadata === undefined ? { id } : { id, metadata };
}

function subscribeToParams({ id }: SubscribeToTaskRequest): JsonObject {
  return { id };
}

/** A configuration with its task, as a request sets it and replies have it. */
function configToJson(config: TaskPushNotificationConfig): JsonObject {
  return { id: config.taskId, pushNotificationConfig: pushConfigToJson(config) };
}

function configToParams({
  taskId,
}: GetTaskPushNotificationConfigRequest | ListTaskPushNotificationConfigsRequest): JsonObject {
  return { id: taskId };
}

/** 0.1 has no delete; setting `null` has the same effect. */
function deleteToParams({ taskId }: DeleteTaskPushNotificationConfigRequest): JsonObject {
  return { id: taskId, pushNotificationConfig: null };
}
