import type { Message as AnyMessage, JsonValue } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import { keptJsonOf } from "../codec/json/compact-value.js";
import { artifactIndex } from "../fold.js";
import type {
  Artifact,
  ListTasksResponse,
  Message,
  Part,
  SendMessageResponse,
  StreamResponse,
  Task,
} from "../model.js";

// Approximate sizes in bytes for limits: cheap, and never far off for large values.

const overhead = 16;

/** Size of an event's content. */
export function sizeOfEvent(event: StreamResponse): number {
  const { payload } = event;
  if (payload.case === "artifactUpdate") {
    const { metadata, artifact, append } = payload.value;
    if (artifact === undefined) return sizeOfJson(metadata);
    return sizeOfJson(metadata) + (append ? sizeOfParts(artifact.parts) : sizeOfArtifact(artifact));
  }
  if (payload.case === "statusUpdate") {
    const message = payload.value.status?.message;
    return sizeOfJson(payload.value.metadata) + (message === undefined ? 0 : sizeOfMessage(message));
  }
  return 0;
}

/** Bytes that an event removes from the task by replacing an artifact with the same id. */
export function replacedBytes(task: Task, { payload }: StreamResponse): number {
  if (payload.case !== "artifactUpdate" || payload.value.append) return 0;
  const known = task.artifacts[artifactIndex(task.artifacts, payload.value.artifact?.artifactId ?? "")];
  return known === undefined ? 0 : sizeOfArtifact(known);
}

function sizeOfArtifact({ artifactId, name, description, extensions, metadata, parts }: Artifact): number {
  const texts = artifactId.length + name.length + description.length + sizeOfJson(extensions);
  return texts + sizeOfJson(metadata) + sizeOfParts(parts);
}

/** Size of a whole task. */
export function sizeOfTask({ artifacts, history, status }: Task): number {
  let size = status?.message === undefined ? 0 : sizeOfMessage(status.message);
  for (const message of history) size += sizeOfMessage(message);
  for (const artifact of artifacts) size += sizeOfArtifact(artifact);
  return size;
}

/** Size of the tasks that a reply or an event holds, before it is encoded. */
export function sizeOfTasksIn(reply: AnyMessage): number {
  switch (reply.$typeName) {
    case "lf.a2a.v1.Task":
      return sizeOfTask(reply as Task);
    case "lf.a2a.v1.ListTasksResponse":
      return (reply as ListTasksResponse).tasks.reduce((sum, task) => sum + sizeOfTask(task), 0);
    case "lf.a2a.v1.SendMessageResponse":
    case "lf.a2a.v1.StreamResponse": {
      const { payload } = reply as SendMessageResponse | StreamResponse;
      return payload.case === "task" ? sizeOfTask(payload.value) : 0;
    }
    default:
      return 0;
  }
}

export function sizeOfMessage(message: Message): number {
  const texts = message.messageId.length + sizeOfJson(message.extensions) + sizeOfJson(message.referenceTaskIds);
  return 3 * overhead + texts + sizeOfJson(message.metadata) + sizeOfParts(message.parts);
}

function sizeOfParts(parts: readonly Part[]): number {
  let size = 0;
  for (const part of parts) {
    const texts = part.filename.length + part.mediaType.length;
    size += overhead + texts + sizeOfJson(part.metadata) + sizeOfContent(part);
  }
  return size;
}

function sizeOfContent({ content }: Part): number {
  if (content.case === "text" || content.case === "url" || content.case === "raw") return content.value.length;
  return content.case === "data" ? sizeOfValue(content.value) : 0;
}

function sizeOfValue(value: Value): number {
  const json = keptJsonOf(value);
  if (json !== undefined) return sizeOfJson(json as JsonValue);
  const { kind } = value;
  if (kind.case === "stringValue") return messageBytes + stringBytes + kind.value.length;
  if (kind.case === "structValue") {
    const entries = Object.entries(kind.value.fields);
    return entries.reduce((sum, [key, each]) => sum + memberBytes + key.length + sizeOfValue(each), messageBytes);
  }
  if (kind.case !== "listValue") return messageBytes;
  return kind.value.values.reduce((sum, each) => sum + sizeOfValue(each), messageBytes);
}

// What free JSON takes in the heap of Node 24, measured: a number or a reference, and what is added to it.
const slotBytes = 8;
const stringBytes = 32;
const listBytes = 40;
const objectBytes = 56;
const memberBytes = 16;
/** Objects with more members than this are hash tables. */
const smallObject = 64;
const tableMemberBytes = 80;
/** A Value that is a tree of messages, without what it holds. */
const messageBytes = 90;

/** Approximate size of a JSON value in memory. */
export function sizeOfJson(value: JsonValue | undefined): number {
  if (value === undefined) return 0;
  if (typeof value === "string") return stringBytes + value.length;
  if (typeof value !== "object" || value === null) return slotBytes;
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + sizeOfJson(each), listBytes);
  const entries = Object.entries(value);
  let size = objectBytes + entries.length * (entries.length > smallObject ? tableMemberBytes : memberBytes);
  for (const [key, each] of entries) size += key.length + sizeOfJson(each);
  return size;
}
