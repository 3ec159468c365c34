import type { JsonObject } from "@bufbuild/protobuf";
import { base64FromBytes } from "../../protocol/base64.js";
import { valueToJson } from "../../protocol/codec/json/struct.js";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { isObject } from "../../protocol/kinds.js";
import {
  type Artifact,
  type Message,
  type Part,
  Role,
  type Task,
  type TaskPushNotificationConfig,
  TaskState,
  type TaskStatus,
} from "../../protocol/model.js";
import { formatTimestamp } from "../../protocol/timestamp.js";
import { dataFlag } from "../v0.3/json/words.js";
import { fileFlag, toStateWord } from "./words.js";

// The model → objects of 0.1. Omits what 0.1 has no member for: message ids, references, extensions, and the media type
// and name of parts that are not files.

/** Returns a task, with its history if `history` is set. */
export function taskToJson(task: Task, { history }: { readonly history: boolean }): JsonObject {
  const { id, contextId, status, artifacts, metadata } = task;
  return {
    id,
    ...unlessEmpty("sessionId", contextId),
    status: statusToJson(status),
    ...(artifacts.length === 0
      ? {}
      : { artifacts: artifacts.map((artifact, index) => artifactToJson(artifact, index)) }),
    ...(history && task.history.length > 0 ? { history: task.history.map(messageToJson) } : {}),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

export function statusToJson(status: TaskStatus | undefined): JsonObject {
  const { state = TaskState.UNSPECIFIED, message, timestamp } = status ?? {};
  return {
    state: toStateWord(state),
    ...(message === undefined ? {} : { message: messageToJson(message) }),
    ...(timestamp === undefined ? {} : { timestamp: formatTimestamp(timestamp) }),
  };
}

export function messageToJson({ role, parts, metadata }: Message): JsonObject {
  return {
    role: role === Role.USER ? "user" : "agent",
    parts: partsToJson(parts),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

/** Returns a direct message as the completed task that 0.1 expects. */
export function completedTask(message: Message): JsonObject {
  const status = { state: toStateWord(TaskState.COMPLETED), message: messageToJson(message) };
  return { id: message.taskId, ...unlessEmpty("sessionId", message.contextId), status };
}

/** Returns an artifact; `chunk` holds the flags of a chunk. */
export function artifactToJson(
  { name, description, parts, metadata }: Artifact,
  index: number,
  chunk: { readonly append: boolean; readonly lastChunk: boolean } | undefined = undefined,
): JsonObject {
  return {
    ...unlessEmpty("name", name),
    ...unlessEmpty("description", description),
    parts: partsToJson(parts),
    index,
    ...chunk,
    ...(metadata === undefined ? {} : { metadata }),
  };
}

// Parts of unknown kinds, added after 1.0, are dropped: readers reject a message with an unknown part.
function partsToJson(parts: readonly Part[]): JsonObject[] {
  return parts.map(partToJson).filter((part) => part !== undefined);
}

function partToJson(part: Part): JsonObject | undefined {
  const { content, metadata } = part;
  const extras = metadata === undefined ? {} : { metadata };
  switch (content.case) {
    case "text":
      return { type: "text", text: content.value, ...extras };
    case "raw":
      return { type: "file", file: fileToJson(part, { bytes: base64FromBytes(content.value) }), ...extras };
    case "url":
      return { type: "file", file: fileToJson(part, { uri: content.value }), ...extras };
    case "data":
      return dataToJson(valueToJson(content.value), metadata);
    case undefined:
      return undefined;
    default:
      content satisfies never;
      return undefined;
  }
}

function fileToJson({ filename, mediaType }: Part, content: JsonObject): JsonObject {
  return { ...unlessEmpty("name", filename), ...unlessEmpty("mimeType", mediaType), ...content };
}

function dataToJson(data: ReturnType<typeof valueToJson>, metadata: JsonObject | undefined): JsonObject {
  if (metadata?.[fileFlag] === true && isJsonObject(data) && isJsonObject(data["file"])) {
    const { [fileFlag]: _, ...rest } = metadata;
    return { type: "file", file: data["file"], ...(Object.keys(rest).length === 0 ? {} : { metadata: rest }) };
  }
  if (isObject(data)) {
    return { type: "data", data, ...(metadata === undefined ? {} : { metadata }) };
  }
  return { type: "data", data: { value: data }, metadata: { ...metadata, [dataFlag]: true } };
}

/** Returns the configuration of a task, or `null` for none. */
export function pushConfigToJson(config: TaskPushNotificationConfig): JsonObject | null {
  const { url, token, authentication } = config;
  if (url === "") return null;
  if (authentication === undefined) return { url, ...unlessEmpty("token", token) };
  const { scheme, credentials } = authentication;
  return {
    url,
    ...unlessEmpty("token", token),
    authentication: { schemes: scheme === "" ? [] : [scheme], ...unlessEmpty("credentials", credentials) },
  };
}

function unlessEmpty(name: string, value: string): JsonObject {
  return value === "" ? {} : { [name]: value };
}
