import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { base64FromBytes } from "../../../protocol/base64.js";
import { valueToJson } from "../../../protocol/codec/json/struct.js";
import { isJsonObject } from "../../../protocol/codec/outline/dynamic.js";
import type {
  Artifact,
  Message,
  Part,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskStatus,
} from "../../../protocol/model.js";
import { formatTimestamp } from "../../../protocol/timestamp.js";
import { dataFlag, type RoleWord, toRoleWord, toStateWord } from "./words.js";

// The model as kind-JSON. Required members are written even if empty, others only if set. Free-form JSON is passed
// through. Omits what these versions have no member for: the tenant, and the media type and name of parts that are not
// files.

/** `otherwise` is the role of a message without one. */
export function messageToKindJson(message: Message, otherwise: RoleWord = "agent"): JsonObject {
  const json: JsonObject = {
    kind: "message",
    messageId: message.messageId,
    role: toRoleWord(message.role, otherwise),
    parts: message.parts.map(partToKindJson),
  };
  if (message.taskId !== "") json["taskId"] = message.taskId;
  if (message.contextId !== "") json["contextId"] = message.contextId;
  if (message.referenceTaskIds.length > 0) json["referenceTaskIds"] = [...message.referenceTaskIds];
  return withExtras(json, message);
}

export function taskToKindJson({ id, contextId, status, history, artifacts, metadata }: Task): JsonObject {
  const json: JsonObject = { kind: "task", id, contextId, status: statusToKindJson(status) };
  if (artifacts.length > 0) json["artifacts"] = artifacts.map(artifactToKindJson);
  if (history.length > 0) json["history"] = history.map((message) => messageToKindJson(message));
  if (metadata !== undefined) json["metadata"] = metadata;
  return json;
}

/**
 * Returns an event of a stream. `final` applies only to a status. An event of an unknown kind becomes an empty object.
 */
export function eventToKindJson({ payload }: StreamResponse, final = false): JsonObject {
  switch (payload.case) {
    case "task":
      return taskToKindJson(payload.value);
    case "message":
      return messageToKindJson(payload.value);
    case "statusUpdate": {
      const { taskId, contextId, status, metadata } = payload.value;
      const json: JsonObject = { kind: "status-update", taskId, contextId, status: statusToKindJson(status), final };
      if (metadata !== undefined) json["metadata"] = metadata;
      return json;
    }
    case "artifactUpdate": {
      const { taskId, contextId, artifact, append, lastChunk, metadata } = payload.value;
      const json: JsonObject = { kind: "artifact-update", taskId, contextId };
      json["artifact"] = artifact === undefined ? { artifactId: "", parts: [] } : artifactToKindJson(artifact);
      json["append"] = append;
      json["lastChunk"] = lastChunk;
      if (metadata !== undefined) json["metadata"] = metadata;
      return json;
    }
    default:
      return {};
  }
}

/** Returns a push configuration with its task id. */
export function taskPushConfigToKindJson(config: TaskPushNotificationConfig): JsonObject {
  return { taskId: config.taskId, pushNotificationConfig: pushConfigToKindJson(config) };
}

export function pushConfigToKindJson({ id, url, token, authentication }: TaskPushNotificationConfig): JsonObject {
  const json: JsonObject = { url };
  if (id !== "") json["id"] = id;
  if (token !== "") json["token"] = token;
  if (authentication !== undefined) {
    const { scheme, credentials } = authentication;
    const schemes = scheme === "" ? [] : [scheme];
    json["authentication"] = credentials === "" ? { schemes } : { schemes, credentials };
  }
  return json;
}

function statusToKindJson(status: TaskStatus | undefined): JsonObject {
  if (status === undefined) return { state: "unknown" };
  const json: JsonObject = { state: toStateWord(status.state) };
  if (status.message !== undefined) json["message"] = messageToKindJson(status.message);
  if (status.timestamp !== undefined) json["timestamp"] = formatTimestamp(status.timestamp);
  return json;
}

function artifactToKindJson(artifact: Artifact): JsonObject {
  const json: JsonObject = { artifactId: artifact.artifactId, parts: artifact.parts.map(partToKindJson) };
  if (artifact.name !== "") json["name"] = artifact.name;
  if (artifact.description !== "") json["description"] = artifact.description;
  return withExtras(json, artifact);
}

function withExtras(json: JsonObject, { extensions, metadata }: Pick<Message, "extensions" | "metadata">): JsonObject {
  if (extensions.length > 0) json["extensions"] = [...extensions];
  if (metadata !== undefined) json["metadata"] = metadata;
  return json;
}

function partToKindJson(part: Part): JsonObject {
  const { content, metadata } = part;
  switch (content.case) {
    case "raw":
      return withMetadata({ kind: "file", file: writeFile(part, "bytes", base64FromBytes(content.value)) }, metadata);
    case "url":
      return withMetadata({ kind: "file", file: writeFile(part, "uri", content.value) }, metadata);
    case "data":
      return dataPart(valueToJson(content.value), metadata);
    default:
      return withMetadata({ kind: "text", text: content.value ?? "" }, metadata);
  }
}

function writeFile({ mediaType, filename }: Part, member: "bytes" | "uri", value: string): JsonObject {
  const file: JsonObject = { [member]: value };
  if (mediaType !== "") file["mimeType"] = mediaType;
  if (filename !== "") file["name"] = filename;
  return file;
}

// Data must be an object here. Other values are wrapped in one, with a flag by which readers unwrap it.
function dataPart(data: JsonValue, metadata: JsonObject | undefined): JsonObject {
  if (isJsonObject(data)) return withMetadata({ kind: "data", data }, metadata);
  return { kind: "data", data: { value: data }, metadata: { ...metadata, [dataFlag]: true } };
}

function withMetadata(json: JsonObject, metadata: JsonObject | undefined): JsonObject {
  if (metadata !== undefined) json["metadata"] = metadata;
  return json;
}
