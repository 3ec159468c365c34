import type { Message as AnyMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import { findKeptJson } from "../codec/json/compact-value.js";
import { artifactIndex } from "../fold.js";
import {
  type Artifact,
  type ListTasksResponse,
  type Message,
  type Part,
  type SendMessageRequest,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
  typeNames,
} from "../model.js";

// Approximate sizes in bytes for limits: cheap, and never far off for large values. Where there is a `max`, counting
// stops beyond it.
//
// A message and the free JSON in its parts never change once they exist, so what is large there is measured once:
// walking an object with 100,000 members takes 40 ms, and the size of a message is asked for on its way into the core, in
// its task and its conversation, and where a reply is encoded (`ServerCall.isLarge`). Small ones are measured again in
// each place, unless the size is at hand: to carry it beside the message, in a `WeakMap`, costs twice the measuring
// (Node 24). The metadata of tasks and artifacts may grow in place, and is measured anew.

const overhead = 16;
const noLimit = Number.POSITIVE_INFINITY;

/** Sizes of large messages and of large JSON in them. */
const largeSizes = new WeakMap<object, number>();
/** Smaller values are measured faster than they are looked up. */
const largeBytes = 4096;

function measureOnce<T extends object>(value: T, measure: (value: T) => number): number {
  const known = largeSizes.get(value);
  if (known !== undefined) return known;
  const size = measure(value);
  if (size >= largeBytes) largeSizes.set(value, size);
  return size;
}

/** Size of an event's content. */
export function sizeOfEvent(event: StreamResponse): number {
  const { payload } = event;
  if (payload.case === "artifactUpdate") {
    const { metadata, artifact, append } = payload.value;
    if (artifact === undefined) return sizeOfJson(metadata);
    const added = append ? sizeOfParts(artifact.parts) + sizeOfJson(artifact.metadata) : sizeOfArtifact(artifact);
    return sizeOfJson(metadata) + added;
  }
  if (payload.case === "statusUpdate") {
    const message = payload.value.status?.message;
    return sizeOfJson(payload.value.metadata) + (message === undefined ? 0 : sizeOfMessage(message));
  }
  return 0;
}

/** Bytes that an event removes from the task by replacing an artifact with the same id, or members of metadata. */
export function replacedBytes(task: Task, { payload }: StreamResponse): number {
  if (payload.case === "statusUpdate") return sizeOfReplaced(task.metadata, payload.value.metadata);
  if (payload.case !== "artifactUpdate") return 0;
  const { artifact, append } = payload.value;
  if (artifact === undefined || (append && artifact.metadata === undefined)) return 0;
  const existing = task.artifacts[artifactIndex(task.artifacts, artifact.artifactId)];
  if (existing === undefined) return 0;
  return append ? sizeOfReplaced(existing.metadata, artifact.metadata) : sizeOfArtifact(existing);
}

function sizeOfReplaced(before: JsonObject | undefined, added: JsonObject | undefined): number {
  if (before === undefined || added === undefined) return 0;
  const keys = Object.keys(added).filter((key) => Object.hasOwn(before, key));
  return keys.length === 0 ? 0 : sizeOfJson(Object.fromEntries(keys.map((key) => [key, before[key] ?? null])));
}

/** Size of an artifact. */
export function sizeOfArtifact(artifact: Artifact, max?: number): number {
  const { artifactId, name, description, extensions, metadata, parts } = artifact;
  const texts = artifactId.length + name.length + description.length + sizeOfJson(extensions);
  return texts + sizeOfJson(metadata) + sizeOfParts(parts, max);
}

/** Size of a whole task. */
export function sizeOfTask({ artifacts, history, status, metadata }: Task, max = noLimit): number {
  let size = sizeOfJson(metadata) + (status?.message === undefined ? 0 : sizeOfMessage(status.message));
  size += sumSizes(history, sizeOfMessage, max - size);
  return size + sumSizes(artifacts, sizeOfArtifact, max - size);
}

function sumSizes<T>(items: readonly T[], measure: (item: T, max: number) => number, max = noLimit): number {
  let size = 0;
  for (const item of items) {
    if (size > max) break;
    size += measure(item, max - size);
  }
  return size;
}

/** Size of the content of a send, a reply, an event, or a part of these, before it is encoded. 0 for other messages. */
export function sizeOfContentIn(message: AnyMessage, max = noLimit): number {
  switch (message.$typeName) {
    case typeNames.Task:
      return sizeOfTask(message as Task, max);
    case typeNames.Message:
      return sizeOfMessage(message as Message);
    case typeNames.Artifact:
      return sizeOfArtifact(message as Artifact, max);
    case typeNames.Part:
      return sizeOfPart(message as Part);
    case typeNames.ListTasksResponse:
      return sumSizes((message as ListTasksResponse).tasks, sizeOfTask, max);
    case typeNames.SendMessageRequest: {
      const { message: sent, metadata } = message as SendMessageRequest;
      return sizeOfJson(metadata) + (sent === undefined ? 0 : sizeOfMessage(sent));
    }
    case typeNames.SendMessageResponse:
    case typeNames.StreamResponse: {
      const { payload } = message as SendMessageResponse | StreamResponse;
      if (payload.case === "task" || payload.case === "message") return sizeOfContentIn(payload.value, max);
      return sizeOfEvent(message as StreamResponse);
    }
    default:
      return 0;
  }
}

/** Whether the content of a reply or an event takes more than so many bytes. */
export function exceedsSize(message: AnyMessage, bytes: number): boolean {
  return sizeOfContentIn(message, bytes) > bytes;
}

/** Size of a message, which must not change afterwards. */
export function sizeOfMessage(message: Message): number {
  return measureOnce(message, measureMessage);
}

function measureMessage({ messageId, extensions, referenceTaskIds, metadata, parts }: Message): number {
  const texts = messageId.length + sizeOfJson(extensions) + sizeOfJson(referenceTaskIds);
  return 3 * overhead + texts + sizeOfFixedJson(metadata) + sizeOfParts(parts);
}

function sizeOfParts(parts: readonly Part[], max?: number): number {
  return sumSizes(parts, sizeOfPart, max);
}

export function sizeOfPart(part: Part): number {
  return overhead + part.filename.length + part.mediaType.length + sizeOfFixedJson(part.metadata) + sizeOfContent(part);
}

function sizeOfContent({ content }: Part): number {
  if (content.case === "text" || content.case === "url" || content.case === "raw") return content.value.length;
  return content.case === "data" ? sizeOfValue(content.value) : 0;
}

function sizeOfValue(value: Value): number {
  const json = findKeptJson(value);
  if (json !== undefined) return sizeOfFixedJson(json);
  const { kind } = value;
  if (kind.case === "stringValue") return messageBytes + stringBytes + kind.value.length;
  if (kind.case === "structValue") {
    const { fields } = kind.value;
    let size = messageBytes;
    for (const key of Object.keys(fields)) {
      const field = fields[key];
      size += memberBytes + key.length + (field === undefined ? 0 : sizeOfValue(field));
    }
    return size;
  }
  if (kind.case !== "listValue") return messageBytes;
  return kind.value.values.reduce((sum, each) => sum + sizeOfValue(each), messageBytes);
}

// Sizes of free JSON in the heap of Node 24, measured: a number or a reference, and the overhead of each kind.
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

/** Whether the size of free JSON is above `bytes`. */
export function exceedsJsonSize(value: JsonValue, bytes: number): boolean {
  if (typeof value !== "object" || value === null) return sizeOfJson(value) > bytes;
  return (largeSizes.get(value) ?? sizeOfJson(value, bytes)) > bytes;
}

/** Size of free JSON, which must not change afterwards. */
function sizeOfFixedJson(value: JsonObject | readonly JsonValue[] | undefined): number {
  return value === undefined ? 0 : measureOnce(value, (json) => sizeOfJson(json as JsonValue));
}

/** Approximate size of a JSON value in memory. */
export function sizeOfJson(value: JsonValue | undefined, max = noLimit): number {
  if (value === undefined) return 0;
  if (typeof value === "string") return stringBytes + value.length;
  if (typeof value !== "object" || value === null) return slotBytes;
  let size = listBytes;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && size <= max; index++) size += sizeOfJson(value[index], max - size);
    return size;
  }
  const keys = Object.keys(value);
  size = objectBytes + keys.length * (keys.length > smallObject ? tableMemberBytes : memberBytes);
  for (const key of keys) {
    if (size > max) break;
    size += key.length + sizeOfJson(value[key], max - size);
  }
  return size;
}
