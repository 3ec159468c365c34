import { type Message as AnyMessage, create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { validateRead } from "../../protocol/check/validate.js";
import { readJson } from "../../protocol/codec/json/reader.js";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { type FieldViolation, invalidParams, taskNotFound } from "../../protocol/errors.js";
import { randomUuid } from "../../protocol/id/random-uuid.js";
import { TaskPushNotificationConfigSchema } from "../../protocol/model.js";
import {
  type Operation,
  type OperationName,
  operationOf,
  operations,
  type ReplyOf,
  type RequestOf,
} from "../../protocol/operations.js";
import type { ValidationLimits } from "../../protocol/validation-limits.js";
import { mergeViolations } from "../../protocol/violations.js";
import type { OperationCodec } from "../codec.js";
import { foreignNamesIn } from "../foreign-names.js";
import type { UpgradeContext } from "./read-objects.js";
import { oldField, upgradeOf } from "./read-params.js";
import {
  configFromJson,
  configsFromJson,
  getReplyFromJson,
  sendReplyFromJson,
  sendReplyToJson,
  taskFromJson,
  taskReplyToJson,
} from "./replies.js";
import {
  cancelToParams,
  configToJson,
  configToParams,
  deleteToParams,
  getToParams,
  sendToParams,
  subscribeToParams,
} from "./requests.js";
import { readEvent } from "./stream-reader.js";
import { eventToJson } from "./stream-writer.js";
import { taskToJson } from "./write-objects.js";

/** The converters of one operation, typed by the model. */
interface Row<K extends OperationName> {
  writeRequest(request: RequestOf<K>): JsonObject;
  readReply(json: JsonValue | undefined, request: RequestOf<K> | undefined): ReplyOf<K>;
  writeReply(reply: ReplyOf<K>): JsonObject;
}

type Rows = { readonly [K in OperationName]?: Row<K> };

const getConfig = operationOf("getTaskPushNotificationConfig");

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
  const codecs = new Map(operations.map((operation) => [operation.name, codecOf(operation, limits)]));
  return ({ name }) => {
    const codec = codecs.get(name);
    if (codec === undefined) throw new TypeError(`no operation ${name} in this version`);
    return codec;
  };
}

function codecOf(operation: Operation, limits: ValidationLimits): OperationCodec | undefined {
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
  const request = isJsonObject(params) ? (upgradeOf(name)?.(params, context) ?? params) : params;
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
