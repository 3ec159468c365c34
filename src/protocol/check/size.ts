import type { JsonValue } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import { artifactIndex } from "../fold.js";
import type { Artifact, Message, Part, StreamResponse, Task } from "../model.js";

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
  const { kind } = value;
  if (kind.case === "stringValue") return 8 + kind.value.length;
  if (kind.case === "structValue") {
    return Object.entries(kind.value.fields).reduce((sum, [key, each]) => sum + 8 + key.length + sizeOfValue(each), 8);
  }
  if (kind.case !== "listValue") return 8;
  return kind.value.values.reduce((sum, each) => sum + sizeOfValue(each), 8);
}

/** Approximate size of a JSON value. */
export function sizeOfJson(value: JsonValue | undefined): number {
  if (value === undefined) return 0;
  if (typeof value === "string") return 8 + value.length;
  if (typeof value !== "object" || value === null) return 8;
  let size = 8;
  if (Array.isArray(value)) {
    for (const each of value) size += sizeOfJson(each);
    return size;
  }
  for (const [key, each] of Object.entries(value)) size += 8 + key.length + sizeOfJson(each);
  return size;
}
