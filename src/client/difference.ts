import { type JsonObject, toBinary } from "@bufbuild/protobuf";
import { appendChunk } from "../protocol/artifact-chunks.js";
import {
  type Artifact,
  type Message,
  MessageSchema,
  type Part,
  PartSchema,
  Role,
  type StreamResponse,
  type Task,
} from "../protocol/model.js";

/**
 * The events that lead from one state of a task to a later one: what its artifacts have more, and its status when that is
 * another. `undefined` when there is no such way: something was replaced or taken away, or something was said in between
 * that no event could tell.
 */
export function differenceOf(known: Task, now: Task): readonly StreamResponse[] | undefined {
  if (known.id !== now.id || known.artifacts.length > now.artifacts.length) return undefined;
  if (wasSaid(known, now)) return undefined;
  const events: StreamResponse[] = [];
  for (const [index, artifact] of now.artifacts.entries()) {
    const before = known.artifacts[index];
    if (before === undefined) {
      events.push(artifactEvent(now, artifact, false));
      continue;
    }
    const more = moreOf(before, artifact);
    if (more === undefined) return undefined;
    if (more.length > 0) events.push(artifactEvent(now, { ...artifact, parts: more }, true));
  }
  const metadata = addedTo(known.metadata, now.metadata);
  if (metadata === undefined) return undefined;
  if (isOtherStatus(known, now) || Object.keys(metadata).length > 0) events.push(statusEvent(now, metadata));
  return events;
}

/** Whether the agent has said something in between that is in neither the status nor an artifact any more. */
function wasSaid(known: Task, now: Task): boolean {
  const heard = new Set(known.history.map(({ messageId }) => messageId));
  if (known.status?.message !== undefined) heard.add(known.status.message.messageId);
  return now.history.some(({ role, messageId }) => role === Role.AGENT && !heard.has(messageId));
}

/** What an artifact has more than before; `undefined` when it is not what it was and more. */
function moreOf(before: Artifact, now: Artifact): Part[] | undefined {
  if (before.artifactId !== now.artifactId || before.name !== now.name || before.description !== now.description) {
    return undefined;
  }
  if (Object.keys(addedTo(before.metadata, now.metadata) ?? { replaced: true }).length > 0) return undefined;
  const old = joined(before);
  const parts = joined(now);
  const last = old.length - 1;
  for (const [index, part] of old.entries()) {
    const other = parts[index];
    if (other === undefined) return undefined;
    if (isSamePart(part, other)) continue;
    const rest = index === last ? restOf(part, other) : undefined;
    return rest === undefined ? undefined : [rest, ...parts.slice(old.length)];
  }
  return parts.slice(old.length);
}

// Agents keep chunks of text as they came, or joined: joined they can be compared.
function joined(artifact: Artifact): readonly Part[] {
  const whole: Artifact = { ...artifact, parts: [] };
  appendChunk(whole, artifact);
  return whole.parts;
}

function isSamePart(a: Part, b: Part): boolean {
  if (a.content.case === "text" && b.content.case === "text" && a.content.value !== b.content.value) return false;
  return isSameBytes(toBinary(PartSchema, a), toBinary(PartSchema, b));
}

/** The text by which a part has grown. */
function restOf(before: Part, now: Part): Part | undefined {
  if (before.content.case !== "text" || now.content.case !== "text") return undefined;
  const { value } = before.content;
  if (!now.content.value.startsWith(value)) return undefined;
  const rest: Part = { ...now, content: { case: "text", value: now.content.value.slice(value.length) } };
  return isSamePart({ ...before, content: now.content }, now) ? rest : undefined;
}

function isOtherStatus(known: Task, now: Task): boolean {
  const [a, b] = [known.status, now.status];
  if (a === undefined || b === undefined) return a !== b;
  if (a.state !== b.state || !isSameMessage(a.message, b.message)) return true;
  return a.timestamp?.seconds !== b.timestamp?.seconds || a.timestamp?.nanos !== b.timestamp?.nanos;
}

function isSameMessage(a: Message | undefined, b: Message | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return isSameBytes(toBinary(MessageSchema, a), toBinary(MessageSchema, b));
}

/** Members that are new or have another value; `undefined` when one was taken away. */
function addedTo(before: JsonObject | undefined, now: JsonObject | undefined): JsonObject | undefined {
  const added: JsonObject = {};
  for (const key of Object.keys(before ?? {})) {
    if (now === undefined || !Object.hasOwn(now, key)) return undefined;
  }
  for (const [key, value] of Object.entries(now ?? {})) {
    const known = before?.[key];
    if (known === undefined || JSON.stringify(known) !== JSON.stringify(value)) added[key] = value;
  }
  return added;
}

function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

function artifactEvent({ id, contextId }: Task, artifact: Artifact, append: boolean): StreamResponse {
  return {
    $typeName: "lf.a2a.v1.StreamResponse",
    payload: {
      case: "artifactUpdate",
      value: {
        $typeName: "lf.a2a.v1.TaskArtifactUpdateEvent",
        taskId: id,
        contextId,
        artifact,
        append,
        lastChunk: false,
      },
    },
  };
}

function statusEvent({ id, contextId, status }: Task, metadata: JsonObject): StreamResponse {
  const event = { $typeName: "lf.a2a.v1.TaskStatusUpdateEvent" as const, taskId: id, contextId };
  const value = {
    ...event,
    ...(status === undefined ? {} : { status }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  };
  return { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "statusUpdate", value } };
}
