import type { Message as AnyMessage, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { validateRead } from "../../../protocol/check/validate.js";
import { readJson } from "../../../protocol/codec/json/reader.js";
import { writeJson } from "../../../protocol/codec/json/writer.js";
import { isJsonObject } from "../../../protocol/codec/outline/dynamic.js";
import { invalidParams } from "../../../protocol/errors.js";
import type { AgentCard, GetTaskRequest, SendMessageResponse } from "../../../protocol/model.js";
import type { Operation, OperationName } from "../../../protocol/operations.js";
import type { ValidationLimits } from "../../../protocol/validation-limits.js";
import { mergeViolations, mustBe, violationText } from "../../../protocol/violations.js";
import type { OperationCodec } from "../../codec.js";
import { unreadableReply } from "../../codec-errors.js";
import { foreignNamesIn } from "../../foreign-names.js";
import { kindJsonCodecs } from "../json/codec.js";
import { readCardJson, writeCardJson } from "./card.js";
import {
  ConfigsSchema,
  CreateRequestSchema,
  SendRequestSchema,
  SendResponseSchema,
  TaskConfigSchema,
  TaskSchema,
  type WireSendRequest,
} from "./model.js";
import { findReply, findRequest, finishReply, readCreate, requestReading, violationsIn } from "./operations.js";
import type { Peers, WireForm } from "./peers.js";

// The JSON of 0.3's schema, which HTTP+JSON carries. Ids come from the path, as `taskId` and `configId`. The specification
// can be taken to mean 0.3's other JSON, so a request clearly in that form is read as such.

interface JsonCodecOptions {
  readonly limits: ValidationLimits;
  readonly peers: Peers;
  /** Requests for a push configuration that are sent as a bare configuration. */
  readonly bareRequests: WeakSet<AnyMessage>;
}

export function protoJsonCodecs(options: JsonCodecOptions): (operation: Operation) => OperationCodec {
  const kinds = kindJsonCodecs(options.limits);
  const codecs = new Map<Operation, OperationCodec>();
  return (operation) => {
    const existing = codecs.get(operation);
    if (existing !== undefined) return existing;
    const codec = createCodec(operation, options, kinds(operation));
    codecs.set(operation, codec);
    return codec;
  };
}

function createCodec(operation: Operation, options: JsonCodecOptions, kind: OperationCodec): OperationCodec {
  const { peers } = options;
  const schema = findSchema(operation);
  return {
    readRequest: (json) => readRequest(operation, json ?? {}, kind, options),
    writeRequest: (request) => writeRequest(operation, request, options),
    readReply(json, request) {
      const reply = peers.readReply(request, (reading) => {
        if (operation.name === "getExtendedAgentCard") return readCardJson(json);
        // Peers may send a bare list of configurations, and the reply to a delete is empty.
        const wireJson =
          Array.isArray(json) && operation.name === "listTaskPushNotificationConfigs" ? { configs: json } : json;
        if (schema === undefined) return findReply(operation).read({ $typeName: operation.output.typeName }, reading);
        return findReply(operation).read(readWire(operation, schema, wireJson), reading);
      });
      assertPayload(operation, reply);
      finishReply(operation, reply, request);
      return reply;
    },
    writeReply(reply, request) {
      if (operation.name === "getExtendedAgentCard") return writeCardJson(reply as AgentCard);
      return schema === undefined ? {} : writeJson(schema, findReply(operation).write(reply, peers.formFor(request)));
    },
  };
}

function readRequest(
  operation: Operation,
  json: JsonValue,
  kind: OperationCodec,
  { limits, peers }: JsonCodecOptions,
): AnyMessage {
  if (!isJsonObject(json)) throw invalidParams({ field: "", description: mustBe("an object", json) });
  switch (operation.name) {
    case "sendMessage":
    case "sendStreamingMessage":
      return isKindSend(json) ? kind.readRequest(json) : readSend(operation, withContent(json), limits, peers);
    case "createTaskPushNotificationConfig":
      return readCreateJson(operation, json, limits);
    default:
      return readPlain(operation, json, limits);
  }
}

function writeRequest(
  operation: Operation,
  request: AnyMessage,
  { peers, bareRequests }: JsonCodecOptions,
): JsonObject {
  const form = peers.formFor(request);
  switch (operation.name) {
    case "sendMessage":
    case "sendStreamingMessage":
      return writeSend(operation, request, form);
    case "createTaskPushNotificationConfig": {
      const json = writeJson(CreateRequestSchema, findRequest(operation).write(request, form));
      const { config } = json;
      const taskId = (request as AnyMessage & { readonly taskId: string }).taskId;
      return { ...(bareRequests.has(request) && isJsonObject(config) ? config : json), taskId };
    }
    default:
      return writePlain(operation, request);
  }
}

// Sends.

/** Messages of the other JSON have `parts` with a `kind`, and lowercase roles. */
function isKindSend({ message }: JsonObject): boolean {
  if (!isJsonObject(message)) return false;
  const { kind, role, parts } = message;
  if (kind !== undefined || role === "user" || role === "agent") return true;
  return (
    Array.isArray(parts) && parts.some((part) => isJsonObject(part) && (part["kind"] ?? part["type"]) !== undefined)
  );
}

/** One SDK renamed the list of parts in its copy of the schema. */
function withContent(json: JsonObject): JsonObject {
  const name = isJsonObject(json["message"]) ? "message" : "request";
  const message = json[name];
  if (!isJsonObject(message) || message["parts"] === undefined || message["content"] !== undefined) return json;
  const { parts, ...rest } = message;
  return { ...json, [name]: { ...rest, content: parts } };
}

/** Throws `invalidParams` listing every invalid field. */
function readSend(operation: Operation, json: JsonObject, limits: ValidationLimits, peers: Peers): AnyMessage {
  const { message: wire, violations } = readJson(SendRequestSchema, json, { maxDepth: limits.jsonDepthMax });
  const reading = requestReading();
  const request = findRequest(operation).read(wire, reading);
  const readViolations = mergeViolations(violations, reading.violations);
  const invalid = violationsIn(operation, request, { limits, violations: readViolations, isRead: true });
  const foreign = foreignNamesIn("0.3 HTTP+JSON", operation.name, json);
  if (invalid.length + foreign.length > 0) throw invalidParams(...foreign, ...invalid);
  peers.note(request, reading);
  return request;
}

/** `blocking` is written even if false: peers differ in its default. */
function writeSend(operation: Operation, request: AnyMessage, form: WireForm): JsonObject {
  const wire = findRequest(operation).write(request, form) as WireSendRequest;
  const json = writeJson(SendRequestSchema, wire);
  const { configuration } = json;
  if (isJsonObject(configuration)) configuration["blocking"] = wire.configuration?.blocking === true;
  return json;
}

// Other requests.

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
function readPlain({ name, input }: Operation, json: JsonObject, limits: ValidationLimits): AnyMessage {
  const names = Object.entries(members[name] ?? {});
  const requestJson: JsonObject = {};
  for (const [wireName, model] of names) if (json[wireName] !== undefined) requestJson[model] = json[wireName];
  const { message, violations } = readJson(input, requestJson, { maxDepth: limits.jsonDepthMax });
  const invalid = mergeViolations(violations, validateRead(input, message, limits));
  if (invalid.length > 0) {
    const ownName = (field: string) => names.find(([, model]) => model === field)?.[0] ?? field;
    throw invalidParams(...invalid.map(({ field, description }) => ({ field: ownName(field), description })));
  }
  if (name === "getTask") {
    const request = message as GetTaskRequest;
    // Here 0 means the whole history.
    if (request.historyLength === 0) delete request.historyLength;
  }
  return message;
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

function writePlain({ name, input }: Operation, request: AnyMessage): JsonObject {
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
function readCreateJson(operation: Operation, json: JsonObject, limits: ValidationLimits): AnyMessage {
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
    const ids = { ...(configId !== undefined && { configId }), ...(config_id !== undefined && { config_id }) };
    return { requestJson: { ...ids, config: configJson }, prefix: /^/ };
  }
  const isConfig = "pushNotificationConfig" in body || "push_notification_config" in body;
  if (isConfig) return { requestJson: { config: body }, prefix: /^config\./ };
  return { requestJson: { config: { pushNotificationConfig: body } }, prefix: /^config\.pushNotificationConfig\./ };
}

// Replies.

function findSchema({ name }: Operation): DescMessage | undefined {
  switch (name) {
    case "sendMessage":
      return SendResponseSchema;
    case "getTask":
    case "cancelTask":
      return TaskSchema;
    case "createTaskPushNotificationConfig":
    case "getTaskPushNotificationConfig":
      return TaskConfigSchema;
    case "listTaskPushNotificationConfigs":
      return ConfigsSchema;
    default:
      return undefined;
  }
}

function readWire({ name }: Operation, schema: DescMessage, json: JsonValue | undefined): AnyMessage {
  if ((json ?? undefined) === undefined) throw unreadableReply(name, "it is missing");
  const { message, violations } = readJson(schema, json, { lenient: true });
  const [violation] = violations;
  if (violation !== undefined) throw unreadableReply(name, violationText(violation));
  return message;
}

function assertPayload({ name }: Operation, reply: AnyMessage): void {
  if (name !== "sendMessage") return;
  const { payload } = reply as SendMessageResponse;
  if (payload.case === undefined) throw unreadableReply(name, "it holds nothing that this version knows");
}
