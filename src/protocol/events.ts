import type { JsonObject } from "@bufbuild/protobuf";
import {
  type Artifact,
  type Message,
  Role,
  type StreamResponse,
  type TaskArtifactUpdateEvent,
  TaskState,
  type TaskStatusUpdateEvent,
} from "./model.js";
import { type Content, partsOf } from "./parts.js";

// Constructors of what an agent says. Ids that are left empty are filled in by the turn that emits the event.

/** An event of an agent: made by one of the constructors, or a raw protocol event. Handed over when emitted: do not change it afterwards. */
export type AgentEvent = TaskStatusUpdateEvent | TaskArtifactUpdateEvent | Message | StreamResponse | ParkEvent;

/** Ends the turn and keeps the task: made by `park`. Callers never see it. */
export interface ParkEvent {
  readonly $typeName: "trivium.Park";
  readonly wakeAt: number | undefined;
}

/** Marks the chunks of one artifact whose id the turn chooses. */
export const artifactKey: unique symbol = Symbol("trivium.artifact");

/** An artifact event that may belong to others with the same key. */
export interface KeyedArtifactEvent extends TaskArtifactUpdateEvent {
  readonly [artifactKey]?: object | undefined;
}

export interface ArtifactOptions {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** Default: `<turn>.<ordinal>`, so that a turn that runs again replaces what it left half done. */
  readonly artifactId?: string | undefined;
  /** Adds the parts to the artifact of this id instead of replacing it; needs `artifactId`. Default: false. */
  readonly append?: boolean | undefined;
  /** Says that nothing more will be added. Default: false. */
  readonly lastChunk?: boolean | undefined;
  readonly metadata?: JsonObject | undefined;
  readonly extensions?: readonly string[] | undefined;
}

/** A result, or a chunk of one (spec 4.2.2). */
export function artifact(content: Content, options: ArtifactOptions = {}): TaskArtifactUpdateEvent {
  if (options.append === true && options.artifactId === undefined) {
    throw new TypeError("append needs the artifactId that it adds to");
  }
  const made: Artifact = {
    $typeName: "lf.a2a.v1.Artifact",
    artifactId: options.artifactId ?? "",
    name: options.name ?? "",
    description: options.description ?? "",
    parts: partsOf(content),
    extensions: [...(options.extensions ?? [])],
  };
  if (options.metadata !== undefined) made.metadata = options.metadata;
  return artifactEvent(made, options.append ?? false, options.lastChunk ?? false);
}

/** An artifact event around an artifact. */
export function artifactEvent(made: Artifact, append: boolean, lastChunk: boolean): TaskArtifactUpdateEvent {
  return {
    $typeName: "lf.a2a.v1.TaskArtifactUpdateEvent",
    taskId: "",
    contextId: "",
    artifact: made,
    append,
    lastChunk,
  };
}

export interface StatusOptions {
  readonly metadata?: JsonObject | undefined;
}

type StatusConstructor = (content?: Content, options?: StatusOptions) => TaskStatusUpdateEvent;

const statusConstructor =
  (state: TaskState): StatusConstructor =>
  (content, options) =>
    statusEvent(state, content === undefined ? undefined : reply(content), options);

/** A status event of any state. Its time is set when it is emitted. */
export function statusEvent(state: TaskState, message?: Message, options?: StatusOptions): TaskStatusUpdateEvent {
  const event: TaskStatusUpdateEvent = {
    $typeName: "lf.a2a.v1.TaskStatusUpdateEvent",
    taskId: "",
    contextId: "",
    status: { $typeName: "lf.a2a.v1.TaskStatus", state },
  };
  if (message !== undefined && event.status !== undefined) event.status.message = message;
  if (options?.metadata !== undefined) event.metadata = options.metadata;
  return event;
}

/** The agent is at work. */
export const working: StatusConstructor = statusConstructor(TaskState.WORKING);

/** Done, well. What the task produced belongs into artifacts, not into this message. */
export const completed: StatusConstructor = statusConstructor(TaskState.COMPLETED);

/** Done, badly. The text is public. */
export const failed: StatusConstructor = statusConstructor(TaskState.FAILED);

/** The agent declines the task. */
export const rejected: StatusConstructor = statusConstructor(TaskState.REJECTED);

/** The agent gave the task up, as it was asked to. */
export const canceled: StatusConstructor = statusConstructor(TaskState.CANCELED);

/** The caller has to say more. Return after it, or stay with `turn.ask` or `turn.receive`. */
export const inputRequired: StatusConstructor = statusConstructor(TaskState.INPUT_REQUIRED);

/** The caller must grant access first; the text says what and where (spec 7.6). */
export const authRequired: StatusConstructor = statusConstructor(TaskState.AUTH_REQUIRED);

export interface ReplyOptions {
  readonly metadata?: JsonObject | undefined;
  readonly extensions?: readonly string[] | undefined;
}

/** A message of the agent. As the first event it is the whole answer and no task is made; later it completes the task. */
export function reply(content: Content, options: ReplyOptions = {}): Message {
  const message: Message = {
    $typeName: "lf.a2a.v1.Message",
    messageId: "",
    contextId: "",
    taskId: "",
    role: Role.AGENT,
    parts: partsOf(content),
    extensions: [...(options.extensions ?? [])],
    referenceTaskIds: [],
  };
  if (options.metadata !== undefined) message.metadata = options.metadata;
  return message;
}

export interface ParkOptions {
  /** When to go on: a date, or milliseconds since the epoch. Default: when the task is woken or gets a message. */
  readonly wakeAt?: Date | number | undefined;
}

/**
 * Work goes on elsewhere: the turn ends, and the task stays as it is, without a running turn, until its time has come, it is
 * woken, or a message comes. The next turn goes on. The last event of a turn: what comes after it is dropped.
 */
export function park({ wakeAt }: ParkOptions = {}): ParkEvent {
  const time = typeof wakeAt === "object" ? wakeAt.getTime() : wakeAt;
  if (time !== undefined && !Number.isFinite(time)) throw new TypeError(`wakeAt must be a time, not ${String(wakeAt)}`);
  return { $typeName: "trivium.Park", wakeAt: time === undefined ? undefined : Math.ceil(time) };
}
