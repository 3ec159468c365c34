import { A2AError } from "../protocol/errors.js";
import { type AgentEvent, artifactKey, type KeyedArtifactEvent } from "../protocol/events.js";
import {
  type Artifact,
  type Message,
  type Part,
  Role,
  type StreamResponse,
  TaskState,
  type TaskStatusUpdateEvent,
} from "../protocol/model.js";

// Turns what an agent emits into an event of its task: ids filled in, and nothing in it that a peer would choke on. The
// time of a status is set when it is written.

/** What a turn fills in. */
export interface Identity {
  readonly taskId: string;
  readonly contextId: string;
  readonly newId: () => string;
  /** Chooses the id of an artifact that has none; the same key gives the same id. */
  readonly artifactId: (key: object | undefined) => string;
}

export type Normalized =
  | { readonly kind: "reply"; readonly message: Message }
  | { readonly kind: "status"; readonly state: TaskState; readonly event: StreamResponse }
  | { readonly kind: "artifact"; readonly lastChunk: boolean; readonly event: StreamResponse };

/** Throws `invalidAgentResponse` for an event that is not the turn's to emit. */
export function normalizeEvent(event: AgentEvent, identity: Identity): Normalized {
  if (typeof event !== "object" || event === null) throw unfit(`an agent emits events, not ${typeof event}`);
  switch (event.$typeName) {
    case "lf.a2a.v1.TaskArtifactUpdateEvent":
      return normalizeArtifact(event, identity);
    case "lf.a2a.v1.TaskStatusUpdateEvent":
      return normalizeStatus(event, identity);
    case "lf.a2a.v1.Message":
      return { kind: "reply", message: normalizeMessage(event, identity, false) };
    case "lf.a2a.v1.StreamResponse":
      return normalizeWrapped(event, identity);
    default:
      throw unfit(`an agent emits messages, status and artifact events, not ${describe(event satisfies never)}`);
  }
}

/** Status event of the turn's own making. */
export function statusUpdate(state: TaskState, identity: Identity, message?: Message): StreamResponse {
  const status: TaskStatusUpdateEvent["status"] = {
    $typeName: "lf.a2a.v1.TaskStatus",
    state,
  };
  if (message !== undefined) status.message = normalizeMessage(message, identity, true);
  return wrapStatus({
    $typeName: "lf.a2a.v1.TaskStatusUpdateEvent",
    taskId: identity.taskId,
    contextId: identity.contextId,
    status,
  });
}

function normalizeWrapped({ payload }: StreamResponse, identity: Identity): Normalized {
  if (payload.case === undefined || payload.case === "task") {
    throw unfit("an agent emits events of its task, not the task itself");
  }
  return normalizeEvent(payload.value, identity);
}

function normalizeStatus(event: TaskStatusUpdateEvent, identity: Identity): Normalized {
  checkIds(event, identity);
  const { status } = event;
  if (status === undefined || !(status.state in TaskState) || status.state === TaskState.UNSPECIFIED) {
    throw unfit("a status event needs a status with a state");
  }
  const wrapped = statusUpdate(status.state, identity, status.message);
  if (event.metadata !== undefined && wrapped.payload.case === "statusUpdate") {
    wrapped.payload.value.metadata = event.metadata;
  }
  return { kind: "status", state: status.state, event: wrapped };
}

function normalizeArtifact(event: KeyedArtifactEvent, identity: Identity): Normalized {
  checkIds(event, identity);
  const { artifact, append, lastChunk } = event;
  if (artifact === undefined) throw unfit("an artifact event needs an artifact");
  if (append && artifact.artifactId === "" && event[artifactKey] === undefined) {
    throw unfit("append needs the artifactId that it adds to");
  }
  const artifactId = artifact.artifactId === "" ? identity.artifactId(event[artifactKey]) : artifact.artifactId;
  const made: Artifact = { ...artifact, artifactId, parts: checkedParts(artifact.parts, "an artifact") };
  const value: KeyedArtifactEvent = {
    $typeName: "lf.a2a.v1.TaskArtifactUpdateEvent",
    taskId: identity.taskId,
    contextId: identity.contextId,
    artifact: made,
    append,
    lastChunk,
  };
  if (event.metadata !== undefined) value.metadata = event.metadata;
  return {
    kind: "artifact",
    lastChunk,
    event: { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "artifactUpdate", value } },
  };
}

/** A message of the agent; `taskId` stays empty as long as there is no task. */
export function normalizeMessage(message: Message, identity: Identity, withTask: boolean): Message {
  checkIds(message, identity);
  return {
    ...message,
    messageId: message.messageId === "" ? identity.newId() : message.messageId,
    contextId: identity.contextId,
    taskId: withTask ? identity.taskId : "",
    role: Role.AGENT,
    parts: checkedParts(message.parts, "a message"),
  };
}

function checkIds(event: { readonly taskId: string; readonly contextId: string }, identity: Identity): void {
  if (event.taskId !== "" && event.taskId !== identity.taskId) {
    throw unfit(`the event names task ${event.taskId}, the turn runs ${identity.taskId}`);
  }
  if (event.contextId !== "" && event.contextId !== identity.contextId) {
    throw unfit(`the event names context ${event.contextId}, the turn's is ${identity.contextId}`);
  }
}

function checkedParts(parts: readonly Part[], what: string): Part[] {
  if (parts.length === 0) throw unfit(`${what} needs one part or more`);
  return parts.map(checkedPart);
}

// A lone surrogate has no UTF-8: it would be refused by one binding and changed by another.
function checkedPart(part: Part): Part {
  const { content } = part;
  if (content.case === undefined) throw unfit("a part needs a content");
  if (content.case !== "text" || content.value.isWellFormed()) return part;
  return { ...part, content: { case: "text", value: content.value.toWellFormed() } };
}

function wrapStatus(value: TaskStatusUpdateEvent): StreamResponse {
  return { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "statusUpdate", value } };
}

function unfit(message: string): A2AError {
  return new A2AError("invalidAgentResponse", message);
}

function describe(value: unknown): string {
  if (typeof value !== "object" || value === null) return typeof value;
  return "$typeName" in value ? String(value.$typeName) : "an object of another kind";
}
