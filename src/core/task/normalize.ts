import { sanitize, sanitizeJson } from "../../protocol/check/sanitize.js";
import { A2AError } from "../../protocol/errors.js";
import { type AgentEvent, artifactKey, type KeyedArtifactEvent, type ParkEvent } from "../../protocol/events.js";
import { isObject } from "../../protocol/kinds.js";
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  MessageSchema,
  Role,
  type StreamResponse,
  TaskState,
  type TaskStatusUpdateEvent,
  typeNames,
} from "../../protocol/model.js";

// Turns what an agent emits into an event of its task: fills in ids and rejects what a binding could not encode or a
// peer could not read. The time of a status is set when it is written.

// How deep content is nested in the JSON of the deepest reply, a page of tasks; readers accept 64 levels.
const artifactPlace = { name: "artifact", depth: 5 };
const messagePlace = { name: "message", depth: 5 };
const metadataPlace = { name: "metadata", depth: 4 };

/** The ids that a turn fills into its events. */
export interface EventIds {
  readonly taskId: string;
  readonly contextId: string;
  readonly newId: () => string;
  /** Returns the id for an artifact without one; the same key gives the same id. */
  readonly artifactId: (key: object | undefined) => string;
}

export type NormalEvent =
  | { readonly kind: "reply"; readonly message: Message }
  | { readonly kind: "status"; readonly state: TaskState; readonly event: StreamResponse }
  | { readonly kind: "park"; readonly wakeAt: number | undefined }
  | { readonly kind: "artifact"; readonly lastChunk: boolean; readonly event: StreamResponse };

/** Throws `invalidAgentResponse` for an event that the turn may not emit. */
export function normalizeEvent(event: AgentEvent, identity: EventIds): NormalEvent {
  if (typeof event !== "object" || event === null)
    throw invalidEvent(`an agent emits events, such as reply(text) or artifact(text), not ${describe(event)}`);
  switch (event.$typeName) {
    case typeNames.TaskArtifactUpdateEvent:
      return normalizeArtifact(event, identity);
    case typeNames.TaskStatusUpdateEvent:
      return normalizeStatus(event, identity);
    case typeNames.Message:
      return { kind: "reply", message: normalizeMessage(event, identity, false) };
    case typeNames.StreamResponse:
      return normalizeWrapped(event, identity);
    case "trivium.Park":
      return normalizePark(event);
    default:
      throw invalidEvent(`an agent emits messages, status and artifact events, not ${describe(event satisfies never)}`);
  }
}

/** A status event that the turn itself creates. */
export function statusUpdate(state: TaskState, identity: EventIds, message?: Message): StreamResponse {
  const status: TaskStatusUpdateEvent["status"] = {
    $typeName: typeNames.TaskStatus,
    state,
  };
  if (message !== undefined) status.message = normalizeMessage(message, identity, true);
  const { taskId, contextId } = identity;
  const value: TaskStatusUpdateEvent = { $typeName: typeNames.TaskStatusUpdateEvent, taskId, contextId, status };
  return { $typeName: typeNames.StreamResponse, payload: { case: "statusUpdate", value } };
}

function normalizeWrapped({ payload }: StreamResponse, identity: EventIds): NormalEvent {
  if (payload.case === undefined || payload.case === "task") {
    throw invalidEvent("an agent emits events of its task, not the task itself");
  }
  return normalizeEvent(payload.value, identity);
}

function normalizePark({ wakeAt }: ParkEvent): NormalEvent {
  if (wakeAt !== undefined && !Number.isSafeInteger(wakeAt)) {
    throw invalidEvent("`wakeAt` of a parked task must be whole milliseconds or undefined");
  }
  return { kind: "park", wakeAt };
}

function normalizeStatus(event: TaskStatusUpdateEvent, identity: EventIds): NormalEvent {
  checkIds(event, identity);
  const { status } = event;
  if (status === undefined || !states.has(status.state))
    throw invalidEvent("a status event needs a status with a state");
  const response = statusUpdate(status.state, identity, status.message);
  if (event.metadata !== undefined && response.payload.case === "statusUpdate") {
    response.payload.value.metadata = sanitizeJson(event.metadata, metadataPlace);
  }
  return { kind: "status", state: status.state, event: response };
}

function normalizeArtifact(event: KeyedArtifactEvent, identity: EventIds): NormalEvent {
  checkIds(event, identity);
  const { append, lastChunk } = event;
  if (event.artifact === undefined) throw invalidEvent("an artifact event needs an artifact");
  const source = sanitize(ArtifactSchema, event.artifact, artifactPlace);
  if (source.parts.length === 0) throw invalidEvent("an artifact needs one part or more");
  if (append && source.artifactId === "" && event[artifactKey] === undefined) {
    throw invalidEvent("append needs the artifactId that it adds to");
  }
  const artifact: Artifact =
    source.artifactId === "" ? { ...source, artifactId: identity.artifactId(event[artifactKey]) } : source;
  const value: KeyedArtifactEvent = {
    $typeName: typeNames.TaskArtifactUpdateEvent,
    taskId: identity.taskId,
    contextId: identity.contextId,
    artifact,
    append: Boolean(append),
    lastChunk: Boolean(lastChunk),
  };
  if (event.metadata !== undefined) value.metadata = sanitizeJson(event.metadata, metadataPlace);
  return {
    kind: "artifact",
    lastChunk: value.lastChunk,
    event: { $typeName: typeNames.StreamResponse, payload: { case: "artifactUpdate", value } },
  };
}

/** A message of the agent; `taskId` stays empty until there is a task. */
function normalizeMessage(message: Message, identity: EventIds, withTask: boolean): Message {
  const source = sanitize(MessageSchema, message, messagePlace);
  checkIds(source, identity);
  if (source.parts.length === 0) throw invalidEvent("a message needs one part or more");
  return {
    ...source,
    messageId: source.messageId === "" ? identity.newId() : source.messageId,
    contextId: identity.contextId,
    taskId: withTask ? identity.taskId : "",
    role: Role.AGENT,
  };
}

// The error omits the ids, since it may reach a caller that must not see them.
function checkIds(event: { readonly taskId: string; readonly contextId: string }, identity: EventIds): void {
  if (!isOwn(event.taskId, identity.taskId)) throw invalidEvent("the event names another task than that of its turn");
  if (!isOwn(event.contextId, identity.contextId))
    throw invalidEvent("the event names another context than that of its turn");
}

function isOwn(id: string | undefined, own: string): boolean {
  return id === undefined || id === "" || id === own;
}

const states: ReadonlySet<unknown> = new Set(Object.values(TaskState).filter((state) => Number(state) > 0));

function invalidEvent(message: string): A2AError {
  return new A2AError("invalidAgentResponse", message);
}

function describe(value: unknown): string {
  if (!isObject(value)) return value == null ? String(value) : `a ${typeof value}`;
  if (Symbol.iterator in value) return "a list of events: write `async function*`, and `yield` each";
  return "$typeName" in value ? String(value.$typeName) : "an object of another kind";
}
