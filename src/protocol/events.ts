import type { JsonObject } from "@bufbuild/protobuf";
import { type AuthorizationRequest, authorizationContent, authorizationExtension } from "./authorization/request.js";
import { createNameCheck } from "./check/rules.js";
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

/** Options of an artifact event. */
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

const checkArtifactOptions = createNameCheck<ArtifactOptions>("artifact()", {
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
 *
 * @example
 * ```ts
 * const agent: Agent = async function* ({ text, signal }) {
 *   const result = await forecast(text, signal);
 *   yield artifact([`Forecast for ${text}`, data(result)], { name: "forecast" });
 * };
 * ```
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

/** Options of a status event. */
export interface StatusOptions {
  /** Metadata of the event. Default: none. */
  readonly metadata?: JsonObject | undefined;
}

type StatusConstructor = (content?: Content, options?: StatusOptions) => TaskStatusUpdateEvent;

const checkStatusOptions = createNameCheck<StatusOptions>("the options of a status", { metadata: true });

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

/**
 * Creates a status event: the agent is working, with progress as its message.
 *
 * @example
 * ```ts
 * const agent: Agent = async function* ({ text, signal }) {
 *   yield working("reading the forecast");
 *   yield artifact(data(await forecast(text, signal)));
 * };
 * ```
 */
export const working: StatusConstructor = statusConstructor(TaskState.WORKING);

/**
 * Creates a status event: the task succeeded. Put results into artifacts, not into this message.
 *
 * @example
 * ```ts
 * const agent: Agent = async ({ text, emit, signal }) => {
 *   await emit(artifact(await model.complete(text, { signal })));
 *   return completed();
 * };
 * ```
 */
export const completed: StatusConstructor = statusConstructor(TaskState.COMPLETED);

/**
 * Creates a status event: the task failed. Callers see the text.
 *
 * @example
 * ```ts
 * const agent: Agent = async ({ text }) => {
 *   if (text.length > 10_000) return failed("the text is longer than 10,000 characters");
 *   return reply("accepted");
 * };
 * ```
 */
export const failed: StatusConstructor = statusConstructor(TaskState.FAILED);

/**
 * Creates a status event: the agent declines the task.
 *
 * @example
 * ```ts
 * const agent: Agent = async ({ principal }) =>
 *   principal.owner === "guest" ? rejected("guests cannot book") : reply("booked");
 * ```
 */
export const rejected: StatusConstructor = statusConstructor(TaskState.REJECTED);

/**
 * Creates a status event: the agent stopped the task because it was asked to.
 *
 * @example
 * ```ts
 * const agent: Agent = async function* ({ text, signal }) {
 *   try {
 *     yield artifact(await model.complete(text, { signal }));
 *   } catch (error) {
 *     if (!signal.aborted) throw error;
 *     yield canceled("stopped before the answer was complete");
 *   }
 * };
 * ```
 */
export const canceled: StatusConstructor = statusConstructor(TaskState.CANCELED);

/**
 * Creates a status event: the agent needs input from the caller. Pass it to `turn.ask`, which waits for the answer, or
 * return after it.
 *
 * @example
 * ```ts
 * const agent: Agent = async function* ({ ask }) {
 *   const ship = textOf(await ask(inputRequired("Which ship?")));
 *   yield artifact(`Berth N4 is reserved for ${ship}`);
 * };
 * ```
 */
export const inputRequired: StatusConstructor = statusConstructor(TaskState.INPUT_REQUIRED);

/**
 * Creates a status event: the caller must authorize something out of band (spec 7.6). `authRequired({ url })` names the
 * page, for people and, with the authorization extension, for programs; other content says in words what to authorize
 * and where. `turn.authorize` sends it and waits. Throws a `TypeError` for a URL that is not https, or http on this
 * machine.
 *
 * @example
 * ```ts
 * const agent: Agent = async function* ({ ask }) {
 *   await ask(authRequired({ url: "https://calendar.example/consent", scopes: ["read"] }));
 *   yield working("reading the calendar");
 * };
 * ```
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

/** Options of a message of the agent. */
export interface ReplyOptions {
  /** Metadata of the message. Default: none. */
  readonly metadata?: JsonObject | undefined;
  /** URIs of the extensions that the message uses. Default: none. */
  readonly extensions?: readonly string[] | undefined;
}

const checkReplyOptions = createNameCheck<ReplyOptions>("reply()", { metadata: true, extensions: true });

/**
 * Creates a message of the agent. As the first event of a turn it is the whole reply, and no task is created; later it
 * completes the task. Throws a `TypeError` for wrong content or options.
 *
 * @example
 * ```ts
 * const agent: Agent = async ({ text }) => reply(`You said: ${text}`);
 * ```
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

const checkParkOptions = createNameCheck<ParkOptions>("park()", { wakeAt: true });

/**
 * Ends the turn and keeps the task in its state. The next turn runs at `wakeAt`, when `tasks.wake` is called, or when a
 * message arrives. It must be the last event of a turn: later events are dropped. Throws a `TypeError` for a `wakeAt`
 * that is not a time.
 *
 * @example
 * ```ts
 * const agent: Agent = async function* ({ cause, wake, taskId }) {
 *   if (cause === "wake") {
 *     yield wake === undefined ? failed("the job took longer than an hour") : artifact(data(wake));
 *     return;
 *   }
 *   await startJob({ callback: taskId });
 *   yield park({ wakeAt: Date.now() + 3_600_000 });
 * };
 * ```
 */
export function park(options: ParkOptions = {}): ParkEvent {
  checkParkOptions(options);
  const { wakeAt } = options;
  const time = typeof wakeAt === "object" ? wakeAt.getTime() : wakeAt;
  if (time !== undefined && !Number.isFinite(time)) throw new TypeError(`wakeAt must be a time, not ${String(wakeAt)}`);
  return { $typeName: "trivium.Park", wakeAt: time === undefined ? undefined : Math.ceil(time) };
}
