import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { valueToJson } from "../protocol/codec/json/struct.js";
import type { A2AError } from "../protocol/errors.js";
import { artifactEvent, statusEvent } from "../protocol/events.js";
import { isRecord } from "../protocol/kinds.js";
import {
  type Artifact,
  type Message,
  type Part,
  Role,
  type SendMessageConfiguration,
  type Task,
  TaskState,
  type TaskStatus,
  typeNames,
} from "../protocol/model.js";
import { data } from "../protocol/parts.js";
import { formatTimestamp, parseTimestamp } from "../protocol/timestamp.js";
import { callContext } from "./call-context.js";
import { invalidEvent, type Json, type PublishedEvent, type SdkObjects } from "./objects.js";

// The SDK's objects of 1.x: messages of the schema with `$case` in oneofs, strings for times, and empty strings for missing
// members. Enums have the numbers of the model. Wrong types are left for the check of every agent event.

export const objectsV1: SdkObjects = {
  endsOnReturn: true,
  advice:
    'the executor failed before its first event: one of @a2a-js/sdk 0.3 needs fromExecutor(executor, { sdk: "0.3" })',

  requestContext({ turn, message, task, references }) {
    const userMessage = fromMessage(message);
    return {
      request: {
        tenant: turn.tenant,
        message: userMessage,
        configuration: fromConfiguration(turn.configuration),
        metadata: turn.metadata,
      },
      userMessage,
      taskId: turn.taskId,
      contextId: turn.contextId,
      context: callContext(turn),
      task: task === undefined ? undefined : fromTask(task),
      referenceTasks: message.referenceTaskIds.length === 0 ? undefined : references.map(fromTask),
    };
  },

  read(event): PublishedEvent {
    const { kind, data: content } = isRecord(event) ? event : {};
    if (!isRecord(content)) throw invalidEventKind(kind);
    switch (kind) {
      case "message":
        return { kind, message: toMessage(content) };
      case "task":
        return { kind, task: toTask(content) };
      case "statusUpdate":
        return { kind: "status", event: toStatusUpdate(content), final: false };
      case "artifactUpdate":
        return { kind: "artifact", event: toArtifactUpdate(content) };
      default:
        throw invalidEventKind(kind);
    }
  },
};

function invalidEventKind(kind: unknown): A2AError {
  const publication = typeof kind === "string" ? `a ${kind} without data` : "a value of another kind";
  return invalidEvent(
    `the executor published ${publication}, not an event of @a2a-js/sdk 1.x: host an executor of 0.3 with fromExecutor(executor, { sdk: "0.3" })`,
  );
}

// To the model.

function toMessage(message: Json): Message {
  return {
    $typeName: typeNames.Message,
    messageId: text(message["messageId"]) || crypto.randomUUID(),
    contextId: text(message["contextId"]),
    taskId: text(message["taskId"]),
    role: message["role"] === Role.USER ? Role.USER : Role.AGENT,
    parts: records(message["parts"]).map(toPart),
    extensions: strings(message["extensions"]),
    referenceTaskIds: strings(message["referenceTaskIds"]),
    ...readMetadata(message),
  };
}

function toPart(part: Json): Part {
  return {
    $typeName: typeNames.Part,
    content: toContent(part["content"]),
    filename: text(part["filename"]),
    mediaType: text(part["mediaType"]),
    ...readMetadata(part),
  };
}

function toContent(content: unknown): Part["content"] {
  const { $case: name, value } = isRecord(content) ? content : {};
  if (name === "data") return dataContent((value ?? null) as JsonValue);
  return (name === undefined ? { case: undefined } : { case: name, value }) as Part["content"];
}

function dataContent(value: JsonValue): Part["content"] {
  try {
    return data(value).content;
  } catch (error) {
    throw invalidEvent("the executor published data that JSON cannot represent", error);
  }
}

function toTask(task: Json): Task {
  return {
    $typeName: typeNames.Task,
    id: text(task["id"]),
    contextId: text(task["contextId"]),
    ...(isRecord(task["status"]) ? { status: toStatus(task["status"]) } : {}),
    artifacts: records(task["artifacts"]).map(toArtifact),
    history: records(task["history"]).map(toMessage),
    ...readMetadata(task),
  };
}

function toStatus({ state, message, timestamp }: Json): TaskStatus {
  const time = typeof timestamp === "string" ? parseTimestamp(timestamp) : undefined;
  return {
    $typeName: typeNames.TaskStatus,
    state: typeof state === "number" ? state : TaskState.UNSPECIFIED,
    ...(isRecord(message) ? { message: toMessage(message) } : {}),
    ...(time === undefined ? {} : { timestamp: time }),
  };
}

function toStatusUpdate(update: Json): ReturnType<typeof statusEvent> {
  const { state, message } = toStatus(isRecord(update["status"]) ? update["status"] : {});
  return { ...statusEvent(state, message), ...readIds(update), ...readMetadata(update) };
}

function toArtifactUpdate(update: Json): ReturnType<typeof artifactEvent> {
  const artifact = toArtifact(isRecord(update["artifact"]) ? update["artifact"] : {});
  const event = artifactEvent(artifact, update["append"] === true, update["lastChunk"] === true);
  return { ...event, ...readIds(update), ...readMetadata(update) };
}

function toArtifact(artifact: Json): Artifact {
  return {
    $typeName: typeNames.Artifact,
    artifactId: text(artifact["artifactId"]),
    name: text(artifact["name"]),
    description: text(artifact["description"]),
    parts: records(artifact["parts"]).map(toPart),
    extensions: strings(artifact["extensions"]),
    ...readMetadata(artifact),
  };
}

// From the model.

function fromMessage(message: Message): Json {
  const { $typeName: _, parts, ...rest } = message;
  return { ...rest, metadata: rest.metadata, parts: parts.map(fromPart) };
}

function fromPart({ content, filename, mediaType, metadata }: Part): Json {
  return { content: fromContent(content), metadata, filename, mediaType };
}

function fromContent(content: Part["content"]): Json | undefined {
  switch (content.case) {
    case "raw": {
      const { buffer, byteOffset, byteLength } = content.value;
      return { $case: "raw", value: Buffer.from(buffer, byteOffset, byteLength) };
    }
    case "data":
      return { $case: "data", value: valueToJson(content.value) };
    case undefined:
      return undefined;
    default:
      return { $case: content.case, value: content.value };
  }
}

function fromTask({ id, contextId, status, artifacts, history, metadata }: Task): Json {
  return {
    id,
    contextId,
    status: status === undefined ? undefined : fromStatus(status),
    artifacts: artifacts.map(fromArtifact),
    history: history.map(fromMessage),
    metadata,
  };
}

function fromStatus({ state, message, timestamp }: TaskStatus): Json {
  return {
    state,
    message: message === undefined ? undefined : fromMessage(message),
    timestamp: timestamp === undefined ? undefined : formatTimestamp(timestamp),
  };
}

function fromArtifact(artifact: Artifact): Json {
  const { $typeName: _, parts, ...rest } = artifact;
  return { ...rest, metadata: rest.metadata, parts: parts.map(fromPart) };
}

function fromConfiguration(configuration: SendMessageConfiguration | undefined): Json | undefined {
  if (configuration === undefined) return undefined;
  const { acceptedOutputModes, historyLength, returnImmediately, taskPushNotificationConfig: push } = configuration;
  const taskPushNotificationConfig = push === undefined ? undefined : { ...push, authentication: push.authentication };
  return { acceptedOutputModes, historyLength, returnImmediately, taskPushNotificationConfig };
}

// Readers of the members of the SDK's objects.

const text = (value: unknown): string => (typeof value === "string" ? value : "");

const records = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isRecord) : []);

const strings = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

function readIds(update: Json): { readonly taskId: string; readonly contextId: string } {
  return { taskId: text(update["taskId"]), contextId: text(update["contextId"]) };
}

function readMetadata({ metadata }: Json): { readonly metadata?: JsonObject } {
  return isRecord(metadata) ? { metadata: metadata as JsonObject } : {};
}
