import type { JsonObject } from "@bufbuild/protobuf";
import { appendChunk, joinRepeats } from "../../protocol/artifact-chunks.js";
import { isSameMessage } from "../../protocol/check/same-message.js";
import { emptyTask } from "../../protocol/fold.js";
import { type Artifact, type Part, Role, type StreamResponse, type Task, typeNames } from "../../protocol/model.js";

// Compares two snapshots of a task, field by field: `difference.test.ts` asks for a new field of a task. Loaded by the
// first stream that continues from a snapshot.

/**
 * The events that lead from one state of a task to a later one: additions to its artifacts, and its status if it
 * changed. `undefined` when no events can: something was replaced or removed, or a message in between is only in the
 * history.
 */
export function findDifference(earlier: Task, now: Task): readonly StreamResponse[] | undefined {
  if (earlier.id !== now.id || hasUnseenMessage(earlier, now)) return undefined;
  const events = artifactsBehind(earlier, now);
  const metadata = changedMembers(earlier.metadata, now.metadata);
  if (events === undefined || metadata === undefined) return undefined;
  if (earlier.status !== undefined && now.status === undefined) return undefined;
  if (hasMembers(metadata) || isOtherStatus(earlier, now)) events.push(statusEvent(now, metadata));
  return events;
}

/** Additions to the artifacts; `undefined` when something was replaced or removed. */
function artifactsBehind(earlier: Task, now: Task): StreamResponse[] | undefined {
  const events: StreamResponse[] = [];
  const earlierByName = new Map(
    joinRepeats(earlier.artifacts).map((artifact, index) => [identify(artifact, index), artifact]),
  );
  for (const [index, artifact] of joinRepeats(now.artifacts).entries()) {
    const name = identify(artifact, index);
    const before = earlierByName.get(name);
    earlierByName.delete(name);
    const parts = before === undefined ? artifact.parts : findAddedParts(before, artifact);
    if (parts === undefined) return undefined;
    const append = before !== undefined;
    if (!append || parts.length > 0) events.push(artifactEvent(now, { ...artifact, parts }, append));
  }
  return earlierByName.size > 0 ? undefined : events;
}

/** Whether a task contains nothing that its reader does not know. Times and message ids do not count. */
export function isSameContent(earlier: Task, now: Task): boolean {
  const status = isSameStatus(earlier.status, now.status) ? earlier.status : now.status;
  const { status: _, ...rest } = now;
  return findDifference(earlier, status === undefined ? rest : { ...rest, status })?.length === 0;
}

function isSameStatus(before: Task["status"], now: Task["status"]): boolean {
  const parts = addedParts(before?.message?.parts ?? [], now?.message?.parts ?? []);
  return before?.state === now?.state && parts?.length === 0;
}

/** Identifies an artifact: by its id, or by its index if it has none. */
function identify({ artifactId }: Artifact, index: number): string | number {
  return artifactId || index;
}

/** Whether the agent sent a message in between that is in neither the status nor an artifact. */
function hasUnseenMessage(earlier: Task, now: Task): boolean {
  const knownIds = new Set(earlier.history.map(({ messageId }) => messageId));
  // Some agents also keep the status message in the history.
  for (const { status } of [earlier, now]) knownIds.add(status?.message?.messageId ?? "");
  return now.history.some(({ role, messageId }) => role === Role.AGENT && !knownIds.has(messageId));
}

/** The parts added to an artifact; `undefined` when these and its metadata do not explain the change. */
function findAddedParts(before: Artifact, now: Artifact): Part[] | undefined {
  const metadata = changedMembers(before.metadata, now.metadata);
  const isSame = isSameMessage(readHead(before), readHead(now));
  if (metadata === undefined || !isSame) return undefined;
  const parts = addedParts(joinParts(before), joinParts(now));
  // Metadata is only sent with parts.
  return parts?.length === 0 && hasMembers(metadata) ? undefined : parts;
}

function readHead({ metadata: _, ...artifact }: Artifact): Artifact {
  return { ...artifact, parts: [] };
}

// Some agents store text chunks separately, others joined; joined they can be compared.
function joinParts({ metadata: _, ...artifact }: Artifact): readonly Part[] {
  const whole: Artifact = { ...artifact, parts: [] };
  appendChunk(whole, artifact);
  return whole.parts;
}

function addedParts(before: readonly Part[], now: readonly Part[]): Part[] | undefined {
  const last = before.length - 1;
  for (const [index, part] of before.entries()) {
    const other = now[index];
    if (other === undefined) return undefined;
    if (isSameMessage(part, other)) continue;
    const rest = index === last ? findAddedText(part, other) : undefined;
    return rest === undefined ? undefined : [rest, ...now.slice(before.length)];
  }
  return now.slice(before.length);
}

/** The text added to a part, as a chunk that appends it. */
function findAddedText(before: Part, now: Part): Part | undefined {
  if (before.content.case !== "text" || now.content.case !== "text") return undefined;
  const { value } = before.content;
  if (!now.content.value.startsWith(value)) return undefined;
  const rest: Part = { ...now, content: { case: "text", value: now.content.value.slice(value.length) } };
  const [whole] = joinParts({ ...emptyArtifact, parts: [before, rest] });
  return whole !== undefined && isSameMessage(whole, now) ? rest : undefined;
}

const emptyArtifact: Artifact = {
  $typeName: typeNames.Artifact,
  artifactId: "",
  name: "",
  description: "",
  parts: [],
  extensions: [],
};

function isOtherStatus(earlier: Task, now: Task): boolean {
  return !isSameMessage(readStatus(earlier), readStatus(now));
}

function readStatus({ status }: Task): Task {
  return { ...emptyTask("", ""), ...(status === undefined ? {} : { status }) };
}

/** Members that are new or changed; `undefined` when one was removed. */
function changedMembers(before: JsonObject = {}, now: JsonObject = {}): JsonObject | undefined {
  if (Object.keys(before).some((key) => !Object.hasOwn(now, key))) return undefined;
  const entries = Object.entries(now).filter(
    ([key, value]) => !Object.hasOwn(before, key) || JSON.stringify(before[key]) !== JSON.stringify(value),
  );
  return Object.fromEntries(entries);
}

function hasMembers(metadata: JsonObject): boolean {
  return Object.keys(metadata).length > 0;
}

function artifactEvent({ id, contextId }: Task, artifact: Artifact, append: boolean): StreamResponse {
  const event = { $typeName: typeNames.TaskArtifactUpdateEvent, taskId: id, contextId };
  const value = { ...event, artifact, append, lastChunk: false };
  return { $typeName: typeNames.StreamResponse, payload: { case: "artifactUpdate", value } };
}

function statusEvent({ id, contextId, status }: Task, metadata: JsonObject): StreamResponse {
  const event = { $typeName: typeNames.TaskStatusUpdateEvent, taskId: id, contextId };
  const value = {
    ...event,
    ...(status === undefined ? {} : { status }),
    ...(hasMembers(metadata) ? { metadata } : {}),
  };
  return { $typeName: typeNames.StreamResponse, payload: { case: "statusUpdate", value } };
}
