import type { JsonObject } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import { type FreeJsonCheck, valueFromJson, valueToJson } from "../../../protocol/codec/json/struct.js";
import { isJsonObject } from "../../../protocol/codec/outline/dynamic.js";
import {
  type Artifact,
  type Message,
  type Part,
  Role,
  type StreamResponse,
  type Task,
  TaskState,
  type TaskStatus,
  typeNames,
} from "../../../protocol/model.js";
import type { StreamItem } from "../../../protocol/operations.js";
import { addViolation, prefixIndex, prefixMember } from "../../../protocol/violations.js";
import { encodeOnce } from "../../encode-once.js";
import type { FileBytes } from "../../options.js";
import {
  type WireArtifact,
  type WireFile,
  type WireMessage,
  type WirePart,
  type WireStatus,
  type WireStreamResponse,
  type WireTask,
  wireTypeNames,
} from "./model.js";
import { detectBytesForm, type Reading, readBytes, type WireForm, writeBytes } from "./peers.js";

// Tasks, messages, events and parts: 0.3's schema ⇄ the model. States and roles have the same numbers in both. Files and
// data are messages of their own in 0.3, and data must be an object.

export function readMessage(wire: WireMessage, reading: Reading): Message {
  const { messageId, contextId, taskId, role, content, metadata, extensions, referenceTaskIds } = wire;
  const before = reading.violations.length;
  const parts = readParts(content, reading);
  prefixMember(reading.violations, before, "content");
  return {
    $typeName: typeNames.Message,
    messageId,
    contextId,
    taskId,
    parts,
    extensions,
    referenceTaskIds,
    role: readRole(role, reading),
    ...withMetadata(metadata),
  };
}

export function writeMessage(message: Message, form: WireForm): WireMessage {
  const { messageId, contextId, taskId, role, parts, metadata, extensions, referenceTaskIds } = message;
  return {
    $typeName: wireTypeNames.Message,
    messageId,
    contextId,
    taskId,
    extensions,
    role: sameNumber(role),
    content: parts.map((part) => writePart(part, form)),
    referenceTaskIds: form.references ? referenceTaskIds : [],
    ...withMetadata(metadata),
  };
}

// A request keeps an unknown number, so that validation rejects it and lists the known words.
function readRole(role: number, { from }: Reading): Role {
  if (role === 0) return from === "client" ? Role.USER : Role.AGENT;
  if (from === "client" || role === Role.USER) return sameNumber(role);
  return Role.AGENT;
}

export function readTask(wire: WireTask, reading: Reading): Task {
  const { id, contextId, status, artifacts, history, metadata } = wire;
  const task: Task = {
    $typeName: typeNames.Task,
    id,
    contextId,
    artifacts: artifacts.map((artifact) => readArtifact(artifact, reading)),
    history: history.map((message) => readMessage(message, reading)),
    ...withMetadata(metadata),
  };
  if (status !== undefined) task.status = readStatus(status, reading);
  return task;
}

export function writeTask(task: Task, form: WireForm): WireTask {
  const { id, contextId, status, artifacts, history, metadata } = task;
  const wire: WireTask = {
    $typeName: wireTypeNames.Task,
    id,
    contextId,
    artifacts: artifacts.map((artifact) => writeArtifact(artifact, form)),
    history: history.map((message) => writeMessage(message, form)),
    ...withMetadata(metadata),
  };
  if (status !== undefined) wire.status = writeStatus(status, form);
  return wire;
}

function readStatus({ state, update, timestamp }: WireStatus, reading: Reading): TaskStatus {
  const status: TaskStatus = { $typeName: typeNames.TaskStatus, state: knownState(state) };
  if (update !== undefined) status.message = readMessage(update, reading);
  if (timestamp !== undefined) status.timestamp = timestamp;
  return status;
}

function writeStatus({ state, message, timestamp }: TaskStatus, form: WireForm): WireStatus {
  const wire: WireStatus = { $typeName: wireTypeNames.TaskStatus, state: sameNumber(knownState(state)) };
  if (message !== undefined) wire.update = writeMessage(message, form);
  if (timestamp !== undefined) wire.timestamp = timestamp;
  return wire;
}

function knownState(state: number): TaskState {
  return TaskState[state] === undefined ? TaskState.UNSPECIFIED : sameNumber(state);
}

function readArtifact(wire: WireArtifact, reading: Reading): Artifact {
  const { artifactId, name, description, parts, metadata, extensions } = wire;
  return {
    $typeName: typeNames.Artifact,
    artifactId,
    name,
    description,
    extensions,
    parts: readParts(parts, reading),
    ...withMetadata(metadata),
  };
}

function writeArtifact(artifact: Artifact, form: WireForm): WireArtifact {
  const { artifactId, name, description, parts, metadata, extensions } = artifact;
  return {
    $typeName: wireTypeNames.Artifact,
    artifactId,
    name,
    description,
    extensions,
    parts: parts.map((part) => writePart(part, form)),
    ...withMetadata(metadata),
  };
}

/** Reads an event. The payload is unset if its kind is unknown. */
export function readEvent({ payload }: WireStreamResponse, reading: Reading): StreamResponse {
  return { $typeName: typeNames.StreamResponse, payload: readPayload(payload, reading) };
}

function readPayload(payload: WireStreamResponse["payload"], reading: Reading): StreamResponse["payload"] {
  switch (payload.case) {
    case "task":
      return { case: "task", value: readTask(payload.value, reading) };
    case "msg":
      return { case: "message", value: readMessage(payload.value, reading) };
    case "statusUpdate": {
      const { taskId, contextId, status, metadata } = payload.value;
      return {
        case: "statusUpdate",
        value: {
          $typeName: typeNames.TaskStatusUpdateEvent,
          taskId,
          contextId,
          ...(status === undefined ? {} : { status: readStatus(status, reading) }),
          ...withMetadata(metadata),
        },
      };
    }
    case "artifactUpdate": {
      const { taskId, contextId, artifact, append, lastChunk, metadata } = payload.value;
      return {
        case: "artifactUpdate",
        value: {
          $typeName: typeNames.TaskArtifactUpdateEvent,
          taskId,
          contextId,
          append,
          lastChunk,
          ...(artifact === undefined ? {} : { artifact: readArtifact(artifact, reading) }),
          ...withMetadata(metadata),
        },
      };
    }
    default:
      return { case: undefined };
  }
}

/** Writes an event. `final` marks it as the last of the stream. */
export function writeEvent({ payload }: StreamResponse, form: WireForm, final: boolean): WireStreamResponse {
  return { $typeName: wireTypeNames.StreamResponse, payload: writePayload(payload, form, final) };
}

function writePayload(
  payload: StreamResponse["payload"],
  form: WireForm,
  final: boolean,
): WireStreamResponse["payload"] {
  switch (payload.case) {
    case "task":
      return { case: "task", value: writeTask(payload.value, form) };
    case "message":
      return { case: "msg", value: writeMessage(payload.value, form) };
    case "statusUpdate": {
      const { taskId, contextId, status, metadata } = payload.value;
      return {
        case: "statusUpdate",
        value: {
          $typeName: wireTypeNames.TaskStatusUpdateEvent,
          taskId,
          contextId,
          final,
          ...(status === undefined ? {} : { status: writeStatus(status, form) }),
          ...withMetadata(metadata),
        },
      };
    }
    case "artifactUpdate": {
      const { taskId, contextId, artifact, append, lastChunk, metadata } = payload.value;
      return {
        case: "artifactUpdate",
        value: {
          $typeName: wireTypeNames.TaskArtifactUpdateEvent,
          taskId,
          contextId,
          append,
          lastChunk,
          ...(artifact === undefined ? {} : { artifact: writeArtifact(artifact, form) }),
          ...withMetadata(metadata),
        },
      };
    }
    default:
      return { case: undefined };
  }
}

type Encode<T> = (response: StreamResponse, form: WireForm, final: boolean) => T;

/** Encodes an event for one reader. */
type EncodeEvent<T> = (item: StreamItem, fileBytes: FileBytes, final: boolean) => T;

/**
 * The encoding of an event depends on its reader: whether the event closes the stream, and the form of file bytes. Each
 * combination is encoded once, for all streams.
 */
export function eventEncoder<T extends object | string>(encode: Encode<T>, references: boolean): EncodeEvent<T> {
  const once = (fileBytes: FileBytes, final: boolean) =>
    encodeOnce((response) => encode(response, { fileBytes, references }, final));
  const forms = {
    base64: { open: once("base64", false), closing: once("base64", true) },
    raw: { open: once("raw", false), closing: once("raw", true) },
  };
  return (item, fileBytes, final) => forms[fileBytes][final ? "closing" : "open"](item);
}

/** Marks a part whose data is not an object, and which 0.3 wraps in one. All SDKs read and write this mark. */
const wrapMark = "data_part_compat";

function readParts(wires: readonly WirePart[], reading: Reading): Part[] {
  const formInUse = detectBytesForm(wires.flatMap(({ part }) => (part.case === "file" ? [part.value] : [])));
  // `raw` is proof, since the content cannot be base64. What looks like base64 may still be raw content.
  if (formInUse !== undefined && reading.fileBytes !== "raw") reading.fileBytes = formInUse;
  const { violations } = reading;
  return wires.map((wire, index) => {
    const before = violations.length;
    const part = readPart(wire, reading);
    if (violations.length !== before) prefixIndex(violations, before, index);
    return part;
  });
}

function readPart({ part, metadata }: WirePart, reading: Reading): Part {
  switch (part.case) {
    case "text":
      return createPart({ case: "text", value: part.value }, { metadata });
    case "file":
      return createPart(readFile(part.value, reading), {
        metadata,
        filename: part.value.name,
        mediaType: part.value.mimeType,
      });
    case "data":
      return readData(part.value.data ?? {}, metadata);
    default:
      return createPart({ case: undefined }, { metadata });
  }
}

interface PartFacts {
  readonly metadata: JsonObject | undefined;
  readonly filename?: string;
  readonly mediaType?: string;
}

function createPart(content: Part["content"], { metadata, filename = "", mediaType = "" }: PartFacts): Part {
  const part: Part = { $typeName: typeNames.Part, content, filename, mediaType };
  if (metadata !== undefined) part.metadata = metadata;
  return part;
}

function readFile(file: WireFile, { fileBytes = "base64", violations }: Reading): Part["content"] {
  switch (file.file.case) {
    case "fileWithUri":
      return { case: "url", value: file.file.value };
    case "fileWithBytes":
      return { case: "raw", value: readBytes(file, fileBytes) };
    default: {
      const before = violations.length;
      addViolation(violations, "needs one of fileWithUri, fileWithBytes");
      prefixMember(violations, before, "file");
      return { case: "url", value: "" };
    }
  }
}

function readData(data: JsonObject, metadata: JsonObject | undefined): Part {
  const { value } = data;
  if (metadata?.[wrapMark] !== true || value === undefined) return createPart(dataContent(data), { metadata });
  const { [wrapMark]: _, ...others } = metadata;
  return createPart(dataContent(value), { metadata: Object.keys(others).length === 0 ? undefined : others });
}

function dataContent(json: JsonObject[string]): Part["content"] {
  // Free-form JSON is validated when it is read and with the whole request, so it is not checked here.
  const check: FreeJsonCheck = { maxDepth: Number.POSITIVE_INFINITY, lenient: true, violations: [] };
  return { case: "data", value: valueFromJson(json, check, 1) };
}

function writePart(part: Part, form: WireForm): WirePart {
  const { content, metadata } = part;
  if (content.case === "data") return writeData(content.value, metadata);
  const wire: WirePart = { $typeName: wireTypeNames.Part, part: writeContent(part, form) };
  if (metadata !== undefined) wire.metadata = metadata;
  return wire;
}

function writeContent({ content, filename, mediaType }: Part, { fileBytes }: WireForm): WirePart["part"] {
  const file = (source: WireFile["file"]): WirePart["part"] => ({
    case: "file",
    value: { $typeName: wireTypeNames.FilePart, file: source, mimeType: mediaType, name: filename },
  });
  switch (content.case) {
    case "text":
      return { case: "text", value: content.value };
    case "url":
      return file({ case: "fileWithUri", value: content.value });
    case "raw":
      return file({ case: "fileWithBytes", value: writeBytes(content.value, fileBytes) });
    default:
      return { case: undefined };
  }
}

function writeData(value: Value, metadata: JsonObject | undefined): WirePart {
  const json = valueToJson(value);
  const isObject = isJsonObject(json);
  const data = isObject ? json : { value: json };
  const wire: WirePart = {
    $typeName: wireTypeNames.Part,
    part: { case: "data", value: { $typeName: wireTypeNames.DataPart, data } },
  };
  const wireMetadata = isObject ? metadata : { ...metadata, [wrapMark]: true };
  if (wireMetadata !== undefined) wire.metadata = wireMetadata;
  return wire;
}

function withMetadata(metadata: JsonObject | undefined): { readonly metadata?: JsonObject } {
  return metadata === undefined ? {} : { metadata };
}

// The enums of the two schemas are distinct types with the same numbers.
function sameNumber(value: number): number {
  return value;
}
