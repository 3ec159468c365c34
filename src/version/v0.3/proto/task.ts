import type { JsonObject } from "@bufbuild/protobuf";
import {
  type Artifact,
  type Message,
  Role,
  type StreamResponse,
  type Task,
  TaskState,
  type TaskStatus,
  typeNames,
} from "../../../protocol/model.js";
import { prefixMember } from "../../../protocol/violations.js";
import {
  type WireArtifact,
  type WireMessage,
  type WireStatus,
  type WireStreamResponse,
  type WireTask,
  wireTypeNames,
} from "./model.js";
import { type Reading, readParts, type WireForm, writeParts } from "./parts.js";

// Tasks, messages and events: 0.3's schema ⇄ the model. States and roles have the same numbers in both.

export function readMessage(wire: WireMessage, reading: Reading): Message {
  const { messageId, contextId, taskId, role, content, metadata, extensions, referenceTaskIds } = wire;
  const before = reading.violations.length;
  const parts = readParts(content, reading);
  prefixMember(reading.violations, before, "content");
  return {
    $typeName: typeNames.Message,
    ...{ messageId, contextId, taskId, parts, extensions, referenceTaskIds },
    role: readRole(role, reading),
    ...withMetadata(metadata),
  };
}

export function writeMessage(message: Message, form: WireForm): WireMessage {
  const { messageId, contextId, taskId, role, parts, metadata, extensions, referenceTaskIds } = message;
  return {
    $typeName: wireTypeNames.Message,
    ...{ messageId, contextId, taskId, extensions },
    role: sameNumber(role),
    content: writeParts(parts, form),
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
    ...{ id, contextId },
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
    ...{ id, contextId },
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
    ...{ artifactId, name, description, extensions },
    parts: readParts(parts, reading),
    ...withMetadata(metadata),
  };
}

function writeArtifact(artifact: Artifact, form: WireForm): WireArtifact {
  const { artifactId, name, description, parts, metadata, extensions } = artifact;
  return {
    $typeName: wireTypeNames.Artifact,
    ...{ artifactId, name, description, extensions },
    parts: writeParts(parts, form),
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
          ...{ taskId, contextId },
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
          ...{ taskId, contextId, append, lastChunk },
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
          ...{ taskId, contextId, final },
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
          ...{ taskId, contextId, append, lastChunk },
          ...(artifact === undefined ? {} : { artifact: writeArtifact(artifact, form) }),
          ...withMetadata(metadata),
        },
      };
    }
    default:
      return { case: undefined };
  }
}

function withMetadata(metadata: JsonObject | undefined): { readonly metadata?: JsonObject } {
  return metadata === undefined ? {} : { metadata };
}

// The enums of the two schemas are distinct types with the same numbers.
function sameNumber(value: number): number {
  return value;
}
