import { type Message as AnyMessage, create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { validateRead } from "../../protocol/check/validate.js";
import { readJson } from "../../protocol/codec/json/reader.js";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { type FieldViolation, invalidParams, taskNotFound } from "../../protocol/errors.js";
import { takeLast } from "../../protocol/fold.js";
import { randomUuid } from "../../protocol/id/random-uuid.js";
import {
  type SendMessageRequest,
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
import { addViolation, mergeViolations, mustBe, prefixMember, violationText } from "../../protocol/violations.js";
import type { OperationCodec } from "../codec.js";
import { unreadableReply } from "../codec-errors.js";
import { foreignNamesIn } from "../foreign-names.js";
import {
  type NamedTask,
  pick,
  replyContext,
  taskIdIn,
  type UpgradeContext,
  upgradeMessage,
  upgradeTask,
} from "./read-objects.js";
import { readEvent } from "./stream-reader.js";
import { eventToJson } from "./stream-writer.js";
import { toMediaType, toModes } from "./words.js";
import { completedTask, messageToJson, pushConfigToJson, taskToJson } from "./write-objects.js";

// The codec of 0.1: a row of converters for each operation, then requests, then replies, each in both directions. A request
// is upgraded to the JSON of 1.0, which the reader of 1.0 checks; its violations get 0.1's names (`oldField`).

/** The converters of one operation. */
interface Row<Q, R> {
  /** Params → the request, in the JSON of 1.0. */
  upgrade(params: JsonObject, context: UpgradeContext): JsonObject;
  writeRequest(request: Q): JsonObject;
  readReply(json: JsonValue | undefined, request: Q | undefined): R;
  writeReply(reply: R): JsonObject;
}

type Rows = { readonly [K in OperationName]?: Row<RequestOf<K>, ReplyOf<K>> };

const getConfig = findOperation("getTaskPushNotificationConfig");

const rows: Rows = {
  sendMessage: {
    upgrade: upgradeSend,
    writeRequest: sendToParams,
    readReply(json, request) {
      const { message, configuration } = request ?? {};
      const namedTask = { taskId: message?.taskId ?? "", contextId: message?.contextId ?? "" };
      const value = taskFromJson("sendMessage", json, { namedTask, historyLength: configuration?.historyLength });
      return { $typeName: typeNames.SendMessageResponse, payload: { case: "task", value } };
    },
    writeReply: ({ payload }) =>
      payload.case === "message" ? completedTask(payload.value) : taskReplyToJson(payload.value),
  },
  // A stream replies with one of its events.
  sendStreamingMessage: {
    upgrade: upgradeSend,
    writeRequest: sendToParams,
    readReply: readEvent,
    writeReply: eventToJson,
  },
  subscribeToTask: {
    upgrade: (params) => ({ id: readId(params) }),
    writeRequest: ({ id }) => ({ id }),
    readReply: readEvent,
    writeReply: eventToJson,
  },
  getTask: {
    // No history unless requested.
    upgrade: (params) => ({ id: readId(params), historyLength: params["historyLength"] ?? 0 }),
    writeRequest: ({ id, historyLength = allHistory }) => (historyLength === 0 ? { id } : { id, historyLength }),
    readReply: (json, request) =>
      taskFromJson("getTask", json, {
        namedTask: { taskId: request?.id ?? "", contextId: "" },
        historyLength: request?.historyLength,
      }),
    writeReply: taskReplyToJson,
  },
  cancelTask: {
    upgrade: (params) => ({ id: readId(params), ...pick(params, ["metadata"]) }),
    writeRequest: ({ id, metadata }) => (metadata === undefined ? { id } : { id, metadata }),
    readReply: (json, request) =>
      taskFromJson("cancelTask", json, { namedTask: { taskId: request?.id ?? "", contextId: "" } }),
    writeReply: (task) => taskToJson(task, { history: false }),
  },
  createTaskPushNotificationConfig: {
    upgrade: upgradeSet,
    writeRequest: configToJson,
    readReply: (json, request) =>
      configFromJson("createTaskPushNotificationConfig", json, request ?? create(TaskPushNotificationConfigSchema)),
    writeReply: configToJson,
  },
  getTaskPushNotificationConfig: {
    upgrade: upgradeOwnConfig,
    writeRequest: ({ taskId }) => ({ id: taskId }),
    readReply(json, request) {
      const { taskId = "" } = request ?? {};
      const emptyConfig = create(TaskPushNotificationConfigSchema, { taskId });
      const config = configFromJson("getTaskPushNotificationConfig", json, emptyConfig);
      if (config.url === "") throw taskNotFound(taskId);
      return config;
    },
    writeReply: configToJson,
  },
  // A task has at most one configuration, so the list holds at most one.
  listTaskPushNotificationConfigs: {
    upgrade: (params) => ({ taskId: readId(params) }),
    writeRequest: ({ taskId }) => ({ id: taskId }),
    readReply(json, request) {
      const emptyConfig = create(TaskPushNotificationConfigSchema, { taskId: request?.taskId ?? "" });
      const config = configFromJson("listTaskPushNotificationConfigs", json, emptyConfig);
      const configs = config.url === "" ? [] : [config];
      return { $typeName: typeNames.ListTaskPushNotificationConfigsResponse, configs, nextPageToken: "" };
    },
    writeReply: ({ configs: [config = create(TaskPushNotificationConfigSchema)] }) => configToJson(config),
  },
  // 0.1 has no delete; setting `null` has the same effect.
  deleteTaskPushNotificationConfig: {
    upgrade: upgradeOwnConfig,
    writeRequest: ({ taskId }) => ({ id: taskId, pushNotificationConfig: null }),
    readReply: () => ({ $typeName: "google.protobuf.Empty" }),
    writeReply: () => ({ pushNotificationConfig: null }),
  },
};

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
  const row: Row<AnyMessage, AnyMessage> | undefined = rows[operation.name];
  if (row === undefined) return undefined;
  return {
    readRequest: (json) => readParams(operation, json, limits),
    writeRequest: (request) => row.writeRequest(request),
    readReply: (json, request) => row.readReply(json, request),
    writeReply: (reply) => row.writeReply(reply),
  };
}

// Requests.

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
  const request = isJsonObject(params) ? (rows[name]?.upgrade(params, context) ?? params) : params;
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

// A missing id is left for the reader of 1.0's JSON to report.
function readId(params: JsonObject): JsonValue {
  return params["id"] ?? params["taskId"] ?? null;
}

function upgradeSend(params: JsonObject, context: UpgradeContext): JsonObject {
  const { violations } = context;
  const before = violations.length;
  const id = readId(params);
  if (id === null || id === "") {
    addViolation(violations, "is required");
    prefixMember(violations, before, "id");
  }
  const ids = { taskId: id, contextId: params["sessionId"] ?? null };
  const from = violations.length;
  const message = upgradeMessage(params["message"] ?? null, context, ids);
  if (violations.length !== from) prefixMember(violations, from, "message");
  const push = params["pushNotification"] ?? null;
  const configuration: JsonObject = {
    historyLength: params["historyLength"] ?? 0,
    acceptedOutputModes: upgradeModes(params["acceptedOutputModes"] ?? null),
    ...(push === null
      ? {}
      : { taskPushNotificationConfig: upgradePushConfig(push, "pushNotification", { id, context }) }),
  };
  return { ...pick(params, ["metadata"]), message, configuration };
}

function upgradeModes(modes: JsonValue): JsonValue {
  return Array.isArray(modes) ? [...new Set(modes.map(toMediaType))] : modes;
}

function upgradeSet(params: JsonObject, context: UpgradeContext): JsonObject {
  const id = readId(params);
  const { pushNotificationConfig: config = {} } = params;
  const request = upgradePushConfig(config, "pushNotificationConfig", { id, context });
  if (isJsonObject(request)) return { ...request, taskId: id };
  const { violations } = context;
  const before = violations.length;
  addViolation(violations, mustBe("an object", config));
  prefixMember(violations, before, "pushNotificationConfig");
  return { taskId: id };
}

// A task has one configuration, whose id is the task's.
function upgradeOwnConfig(params: JsonObject): JsonObject {
  const id = readId(params);
  return { taskId: id, id };
}

interface ConfigOf {
  readonly id: JsonValue;
  readonly context: UpgradeContext;
}

/** Converts a push configuration; `name` is its path in the params. Returns non-objects unchanged. */
function upgradePushConfig(json: JsonValue, name: string, { id, context }: ConfigOf): JsonValue {
  if (!isJsonObject(json)) return json;
  const config: JsonObject = { ...pick(json, ["url", "token"]), id };
  const authentication = json["authentication"] ?? null;
  if (!isJsonObject(authentication)) return authentication === null ? config : { ...config, authentication };
  const { violations } = context;
  const schemes = authentication["schemes"] ?? [];
  if (!Array.isArray(schemes)) {
    const before = violations.length;
    addViolation(violations, mustBe("an array", schemes));
    prefixMember(violations, before, `${name}.authentication.schemes`);
    return config;
  }
  const [scheme = null] = schemes;
  // An empty `authentication` means none.
  if (scheme === null && (authentication["credentials"] ?? null) === null) return config;
  return { ...config, authentication: { ...pick(authentication, ["credentials"]), scheme } };
}

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

// Replies.

/** Returns the task in reply to a send or a get. The core limits the history. */
function taskReplyToJson(task: Task | undefined): JsonObject {
  return taskToJson(task ?? create(TaskSchema), { history: true });
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

/** A configuration with its task, as a request sets it and replies have it. */
function configToJson(config: TaskPushNotificationConfig): JsonObject {
  return { id: config.taskId, pushNotificationConfig: pushConfigToJson(config) };
}

// The names of fields in violations.

const sendRenames: readonly (readonly [field: RegExp, oldName: string])[] = [
  [/^message\.taskId$/, "id"],
  [/^message\.contextId$/, "sessionId"],
  [/^configuration\.taskPushNotificationConfig\.id$/, "id"],
  [/^configuration\.taskPushNotificationConfig/, "pushNotification"],
  [/^configuration\./, ""],
  [/(parts\[\d+\])\.raw$/, "$1.file.bytes"],
  [/(parts\[\d+\])\.url$/, "$1.file.uri"],
  [/(parts\[\d+\])\.filename$/, "$1.file.name"],
  [/(parts\[\d+\])\.mediaType$/, "$1.file.mimeType"],
  [/authentication\.scheme$/, "authentication.schemes[0]"],
];

const setRenames: typeof sendRenames = [
  [/^(?=url|token|authentication)/, "pushNotificationConfig."],
  [/authentication\.scheme$/, "authentication.schemes[0]"],
  [/^taskId$/, "id"],
];

const renames: { readonly [K in OperationName]?: typeof sendRenames } = {
  sendMessage: sendRenames,
  sendStreamingMessage: sendRenames,
  createTaskPushNotificationConfig: setRenames,
  getTaskPushNotificationConfig: [[/^taskId$/, "id"]],
};

/** Returns the 0.1 name of a field that violates a rule of 1.0. Names of 0.1 stay unchanged. */
export function oldField(operation: OperationName, field: string): string {
  return (renames[operation] ?? []).reduce((name, [pattern, oldName]) => name.replace(pattern, oldName), field);
}
