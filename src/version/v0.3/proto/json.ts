import type { Message as AnyMessage, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { readJson } from "../../../protocol/codec/json/reader.js";
import { writeJson } from "../../../protocol/codec/json/writer.js";
import { isJsonObject } from "../../../protocol/codec/outline/dynamic.js";
import { invalidParams } from "../../../protocol/errors.js";
import type { AgentCard, SendMessageResponse } from "../../../protocol/model.js";
import type { Operation } from "../../../protocol/operations.js";
import type { ValidationLimits } from "../../../protocol/validation-limits.js";
import { mustBe, violationText } from "../../../protocol/violations.js";
import type { OperationCodec } from "../../codec.js";
import { unreadableReply } from "../../codec-errors.js";
import { kindJsonCodecs } from "../json/codec.js";
import { readCardJson, writeCardJson } from "./card.js";
import { readCreateJson, readPlain, readSend, writePlain, writeSend } from "./json-requests.js";
import { ConfigsSchema, CreateRequestSchema, SendResponseSchema, TaskConfigSchema, TaskSchema } from "./model.js";
import { findReply, findRequest, finishReply } from "./operations.js";
import type { Peers } from "./peers.js";

// The JSON of 0.3's schema, which HTTP+JSON carries. The specification can be taken to mean 0.3's other JSON, so a
// request clearly in that form is read as such.

export interface JsonCodecOptions {
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
  return {
    readRequest: (json) => readRequest(operation, json ?? {}, { ...options, kind }),
    writeRequest: (request) => writeRequest(operation, request, options),
    readReply(json, request) {
      const reply = peers.readReply(request, (reading) => {
        if (operation.name === "getExtendedAgentCard") return readCardJson(json);
        // Peers may send a bare list of configurations, and the reply to a delete is empty.
        const wireJson =
          Array.isArray(json) && operation.name === "listTaskPushNotificationConfigs" ? { configs: json } : json;
        const schema = findSchema(operation);
        if (schema === undefined) return findReply(operation).read({ $typeName: operation.output.typeName }, reading);
        return findReply(operation).read(readWire(operation, schema, wireJson), reading);
      });
      assertPayload(operation, reply);
      finishReply(operation, reply, request);
      return reply;
    },
    writeReply(reply, request) {
      if (operation.name === "getExtendedAgentCard") return writeCardJson(reply as AgentCard);
      const schema = findSchema(operation);
      return schema === undefined ? {} : writeJson(schema, findReply(operation).write(reply, peers.formFor(request)));
    },
  };
}

function readRequest(
  operation: Operation,
  json: JsonValue,
  { limits, peers, kind }: JsonCodecOptions & { readonly kind: OperationCodec },
): AnyMessage {
  if (!isJsonObject(json)) throw invalidParams({ field: "", description: mustBe("an object", json) });
  switch (operation.name) {
    case "sendMessage":
    case "sendStreamingMessage": {
      if (isKindSend(json)) return kind.readRequest(json);
      const { request, reading } = readSend(operation, withContent(json), limits);
      peers.note(request, reading);
      return request;
    }
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
