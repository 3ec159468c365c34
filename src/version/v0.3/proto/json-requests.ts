import type { Message as AnyMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { validateRead } from "../../../protocol/check/validate.js";
import { readJson } from "../../../protocol/codec/json/reader.js";
import { writeJson } from "../../../protocol/codec/json/writer.js";
import { isJsonObject } from "../../../protocol/codec/outline/dynamic.js";
import { invalidParams } from "../../../protocol/errors.js";
import type { GetTaskRequest } from "../../../protocol/model.js";
import type { Operation, OperationName } from "../../../protocol/operations.js";
import type { ValidationLimits } from "../../../protocol/validation-limits.js";
import { mergeViolations } from "../../../protocol/violations.js";
import { foreignNamesIn } from "../../foreign-names.js";
import { CreateRequestSchema, SendRequestSchema, type WireSendRequest } from "./model.js";
import { findRequest, requestReading, violationsIn } from "./operations.js";
import type { Reading, WireForm } from "./parts.js";
import { readCreate } from "./push.js";

// Requests of 0.3 over HTTP+JSON. Ids come from the path, as `taskId` and `configId`.

/** Throws `invalidParams` listing every invalid field. */
export function readSend(
  operation: Operation,
  json: JsonObject,
  limits: ValidationLimits,
): { readonly request: AnyMessage; readonly reading: Reading } {
  const { message: wire, violations } = readJson(SendRequestSchema, json, { maxDepth: limits.jsonDepthMax });
  const reading = requestReading();
  const request = findRequest(operation).read(wire, reading);
  const readViolations = mergeViolations(violations, reading.violations);
  const invalid = violationsIn(operation, request, { limits, violations: readViolations, isRead: true });
  const foreign = foreignNamesIn("0.3 HTTP+JSON", operation.name, json);
  if (invalid.length + foreign.length > 0) throw invalidParams(...foreign, ...invalid);
  return { request, reading };
}

/** `blocking` is written even if false: peers differ in its default. */
export function writeSend(operation: Operation, request: AnyMessage, form: WireForm): JsonObject {
  const wire = findRequest(operation).write(request, form) as WireSendRequest;
  const json = writeJson(SendRequestSchema, wire);
  const { configuration } = json;
  if (isJsonObject(configuration)) configuration["blocking"] = wire.configuration?.blocking === true;
  return json;
}

/** Members of requests without a message or configuration: their names here, and in the model. */
const members: { readonly [K in OperationName]?: Readonly<Record<string, string>> } = {
  getTask: { taskId: "id", historyLength: "historyLength", history_length: "historyLength" },
  cancelTask: { taskId: "id", metadata: "metadata" },
  subscribeToTask: { taskId: "id" },
  getTaskPushNotificationConfig: { taskId: "taskId", configId: "id" },
  deleteTaskPushNotificationConfig: { taskId: "taskId", configId: "id" },
  listTaskPushNotificationConfigs: {
    taskId: "taskId",
    pageSize: "pageSize",
    page_size: "pageSize",
    pageToken: "pageToken",
    page_token: "pageToken",
  },
  getExtendedAgentCard: {},
};

/** Throws `invalidParams` listing every invalid field. */
export function readPlain({ name, input }: Operation, json: JsonObject, limits: ValidationLimits): AnyMessage {
  const names = Object.entries(members[name] ?? {});
  const requestJson: JsonObject = {};
  for (const [wireName, model] of names) if (json[wireName] !== undefined) requestJson[model] = json[wireName];
  const { message, violations } = readJson(input, requestJson, { maxDepth: limits.jsonDepthMax });
  const invalid = mergeViolations(violations, validateRead(input, message, limits));
  if (invalid.length > 0) {
    const ownName = (field: string) => names.find(([, model]) => model === field)?.[0] ?? field;
    throw invalidParams(...invalid.map(({ field, description }) => ({ field: ownName(field), description })));
  }
  if (name === "getTask") dropZero(message as GetTaskRequest);
  return message;
}

// Here 0 means the whole history.
function dropZero(request: GetTaskRequest): void {
  if (request.historyLength === 0) delete request.historyLength;
}

/** Returns the query of a route without a body as JSON. A repeated name stays a list, which the reader rejects. */
export function queryJson({ name }: Operation, query: URLSearchParams): JsonObject {
  const json: JsonObject = {};
  for (const wireName of Object.keys(members[name] ?? {})) {
    const values = query.getAll(wireName);
    if (values.length > 0) json[wireName] = values.length === 1 ? (values[0] ?? "") : values;
  }
  return json;
}

export function writePlain({ name, input }: Operation, request: AnyMessage): JsonObject {
  const model = writeJson(input, request);
  const json: JsonObject = {};
  for (const [wireName, member] of Object.entries(members[name] ?? {})) {
    const value = model[member];
    // Omits what the schema has no field for, since some peers reject it.
    if (value !== undefined && value !== 0 && !wireName.includes("_") && wireName !== "metadata")
      json[wireName] = value;
  }
  return json;
}

/**
 * Reads a request to create a push configuration. Its body is one of three: the request with the configuration in
 * `config`, the configuration with its webhook in `pushNotificationConfig`, or the webhook itself.
 */
export function readCreateJson(operation: Operation, json: JsonObject, limits: ValidationLimits): AnyMessage {
  const { taskId, ...body } = json;
  const { requestJson, prefix } = wrap(body);
  const { message, violations } = readJson(CreateRequestSchema, requestJson, { maxDepth: limits.jsonDepthMax });
  const request = readCreate(message, typeof taskId === "string" ? taskId : "", violations);
  const invalid = violationsIn(operation, request, { limits, violations, isRead: true });
  if (invalid.length === 0) return request;
  const ownName = (field: string) => (field === "parent" ? "taskId" : field.replace(prefix, ""));
  throw invalidParams(...invalid.map(({ field, description }) => ({ field: ownName(field), description })));
}

function wrap(body: JsonObject): { readonly requestJson: JsonObject; readonly prefix: RegExp } {
  const { config, configId, config_id } = body;
  if (config !== undefined && config !== null) {
    const configJson =
      isJsonObject(config) && config["url"] !== undefined ? { pushNotificationConfig: config } : config;
    return { requestJson: { ...definedMembers({ configId, config_id }), config: configJson }, prefix: /^/ };
  }
  const isConfig = "pushNotificationConfig" in body || "push_notification_config" in body;
  if (isConfig) return { requestJson: { config: body }, prefix: /^config\./ };
  return { requestJson: { config: { pushNotificationConfig: body } }, prefix: /^config\.pushNotificationConfig\./ };
}

function definedMembers(members: { readonly [name: string]: JsonValue | undefined }): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  );
}
