import type { JsonObject } from "@bufbuild/protobuf";
import { type AuthorizationRequest, authorizationContent, authorizationExtension } from "./authorization/request.js";
import { namesOf } from "./check/rules.js";
import {
  type Artifact,
  type Message,
  Role,
  type StreamResponse,
  type TaskArtifactUpdateEvent,
  TaskState,
  type TaskStatusUpdateEvent,
  typeNames,
} from "./model.js";
import { type Content, toParts } from "./parts.js";

// Constructors of an agent's events. The turn that emits an event fills in the ids that are left empty.

/**
 * An event of an agent: made by `working`, `artifact` and the other constructors, or a raw protocol event. The
 * framework owns it once it is emitted: do not change it afterwards.
 */
export type AgentEvent = TaskStatusUpdateEvent | TaskArtifactUpdateEvent | Message | StreamResponse | ParkEvent;

/** Made by `park`: ends the turn and keeps the task. Callers never see it. */
export interface ParkEvent {
  /** Distinguishes it from the protocol's events. */
  readonly $typeName: "trivium.Park";
  /** When the task is due, in milliseconds since 1970; `undefined` without a time. */
  readonly wakeAt: number | undefined;
}

/** Key that groups the chunks of one artifact whose id the turn chooses. */
export const artifactKey: unique symbol = Symbol("trivium.artifact");

/** An artifact event that shares its artifact with the other events of the same key. */
export interface KeyedArtifactEvent extends TaskArtifactUpdateEvent {
  readonly [artifactKey]?: object | undefined;
}

/** Options of an artifact, beside its parts. */
export interface ArtifactOptions {
  /** Name shown to people. Default: none. */
  readonly name?: string | undefined;
  /** Description for people. Default: none. */
  readonly description?: string | undefined;
  /**
   * Id of the artifact, unique in its task. Default: `<turn>.<ordinal>`, so that a turn that runs again replaces its
   * unfinished artifacts.
   */
  readonly artifactId?: string | undefined;
  /** Appends the parts to the artifact with this id instead of replacing it. Requires `artifactId`. Default: false. */
  readonly append?: boolean | undefined;
  /** Whether this is the artifact's last chunk. Default: false. */
  readonly lastChunk?: boolean | undefined;
  /** Metadata of the artifact. Default: none. */
  readonly metadata?: JsonObject | undefined;
  /** URIs of the extensions that the artifact uses. Default: none. */
  readonly extensions?: readonly string[] | undefined;
}

const checkArtifactOptions = namesOf<ArtifactOptions>("artifact()", {
  name: true,
  description: true,
  artifactId: true,
  append: true,
  lastChunk: true,
  metadata: true,
  extensions: true,
});

/**
 * Creates an artifact event: a result, or a chunk of one (spec 4.2.2). Throws a `TypeError` for wrong content or
 * options, and for `append` without an `artifactId`.
 */
export function artifact(content: Content, options: ArtifactOptions = {}): TaskArtifactUpdateEvent {
  checkArtifactOptions(options);
  if (options.append === true && options.artifactId === undefined) {
    throw new TypeError("append needs the artifactId that it adds to");
  }
  const value: Artifact = {
    $typeName: typeNames.Artifact,
    artifactId: options.artifactId ?? "",
    name: options.name ?? "",
    description: options.description ?? "",
    parts: toParts(content),
    extensions: [...(options.extensions ?? [])],
  };
  if (options.metadata !== undefined) value.metadata = options.metadata;
  return artifactEvent(value, options.append ?? false, options.lastChunk ?? false);
}

/** Wraps an artifact in an artifact event. */
export function artifactEvent(value: Artifact, append: boolean, lastChunk: boolean): TaskArtifactUpdateEvent {
  return {
    $typeName: typeNames.TaskArtifactUpdateEvent,
    taskId: "",
    contextId: "",
    artifact: value,
    append,
    lastChunk,
  };
}

/** Options of a status, beside its state and message. */
export interface StatusOptions {
  /** Metadata of the event. Default: none. */
  readonly metadata?: JsonObject | undefined;
}

type StatusConstructor = (content?: Content, options?: StatusOptions) => TaskStatusUpdateEvent;

const checkStatusOptions = namesOf<StatusOptions>("the options of a status", { metadata: true });

const statusConstructor =
  (state: TaskState): StatusConstructor =>
  (content, options) =>
    statusEvent(state, content === undefined ? undefined : reply(content), options);

/** Creates a status event of any state. Its time is set when it is emitted. */
export function statusEvent(state: TaskState, message?: Message, options?: StatusOptions): TaskStatusUpdateEvent {
  if (options !== undefined) checkStatusOptions(options);
  const event: TaskStatusUpdateEvent = {
    $typeName: typeNames.TaskStatusUpdateEvent,
    taskId: "",
    contextId: "",
    status: { $typeName: typeNames.TaskStatus, state },
  };
  if (message !== undefined && event.status !== undefined) event.status.message = message;
  if (options?.metadata !== undefined) event.metadata = options.metadata;
  return event;
}

/** The agent is working. */
export const working: StatusConstructor = statusConstructor(TaskState.WORKING);

/** The task succeeded. Put its results into artifacts, not into this message. */
export const completed: StatusConstructor = statusConstructor(TaskState.COMPLETED);

/** The task failed. The text is public. */
export const failed: StatusConstructor = statusConstructor(TaskState.FAILED);

/** The agent declines the task. */
export const rejected: StatusConstructor = statusConstructor(TaskState.REJECTED);

/** The agent stopped the task because it was asked to cancel it. */
export const canceled: StatusConstructor = statusConstructor(TaskState.CANCELED);

/** The agent needs more input from the caller. Return after it, or continue with `turn.ask` or `turn.receive`. */
export const inputRequired: StatusConstructor = statusConstructor(TaskState.INPUT_REQUIRED);

/**
 * The caller must grant access first, out of band (spec 7.6): `authRequired({ url })` names the page, for people and,
 * under the authorization extension, for programs. With other content the text says to what and where. `turn.authorize`
 * waits for it. Throws a `TypeError` for a URL that is not https, or http on this machine.
 */
export function authRequired(content?: Content | AuthorizationRequest, options?: StatusOptions): TaskStatusUpdateEvent {
  if (!isAuthorization(content)) return statusConstructor(TaskState.AUTH_REQUIRED)(content, options);
  const { text, metadata } = authorizationContent(content);
  const message = reply(text, { metadata, extensions: [authorizationExtension] });
  return statusEvent(TaskState.AUTH_REQUIRED, message, options);
}

function isAuthorization(content: Content | AuthorizationRequest | undefined): content is AuthorizationRequest {
  return typeof content === "object" && "url" in content;
}

/** Options of a message of the agent, beside its parts. */
export interface ReplyOptions {
  /** Metadata of the message. Default: none. */
  readonly metadata?: JsonObject | undefined;
  /** URIs of the extensions that the message uses. Default: none. */
  readonly extensions?: readonly string[] | undefined;
}

const checkReplyOptions = namesOf<ReplyOptions>("reply()", { metadata: true, extensions: true });

/**
 * Creates a message of the agent. As the first event it is the whole reply and no task is created; later it completes
 * the task.
 */
export function reply(content: Content, options: ReplyOptions = {}): Message {
  checkReplyOptions(options);
  const message: Message = {
    $typeName: typeNames.Message,
    messageId: "",
    contextId: "",
    taskId: "",
    role: Role.AGENT,
    parts: toParts(content),
    extensions: [...(options.extensions ?? [])],
    referenceTaskIds: [],
  };
  if (options.metadata !== undefined) message.metadata = options.metadata;
  return message;
}

/** When a parked task continues. */
export interface ParkOptions {
  /** When to wake: a date, or milliseconds since the epoch. Default: when `wake` is called or a message arrives. */
  readonly wakeAt?: Date | number | undefined;
}

const checkParkOptions = namesOf<ParkOptions>("park()", { wakeAt: true });

/**
 * Ends the turn and keeps the task in its state, without a running turn, until `wakeAt` has passed, `wake` is called or
 * a message arrives; then the next turn runs. This must be the last event of a turn: later events are dropped. Throws a
 * `TypeError` for a `wakeAt` that is not a time.
 */
export function park(options: ParkOptions = {}): ParkEvent {
  checkParkOptions(options);
  const { wakeAt } = options;
  const time = typeof wakeAt === "object" ? wakeAt.getTime() : wakeAt;
  if (time !== undefined && !Number.isFinite(time)) throw new TypeError(`wakeAt must be a time, not ${String(wakeAt)}`);
  return { $typeName: "trivium.Park", wakeAt: time === undefined ? undefined : Math.ceil(time) };
}
