import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { toJson } from "../../protocol/content/objects.js";
import { dataIn, type FileContent, filesIn, type PartList, textOf } from "../../protocol/content/read.js";
import type { StandardSchema } from "../../protocol/content/schema.js";
import type {
  Artifact,
  Message,
  StreamResponse,
  Task,
  TaskArtifactUpdateEvent,
  TaskStatus,
  TaskStatusUpdateEvent,
} from "../../protocol/model.js";
import type { StreamItem } from "../../protocol/operations.js";
import { type StateName, stateName } from "../../protocol/states.js";
import { Answer } from "./answer.js";
import { type Inspect, inspectWith } from "./inspect.js";

/** An event of a stream: a task, a message, a status or a chunk of an artifact, distinguished by `type`. */
export type AnswerEvent = TaskEvent | MessageEvent | StatusEvent | ArtifactEvent;

const code = "invalidAgentResponse";

/** Base of all events. An event keeps its wire message and computes its members when they are read. */
abstract class AnyEvent<P> {
  protected readonly payload: P;
  private readonly item: StreamItem;

  constructor(item: StreamItem, payload: P) {
    this.item = item;
    this.payload = payload;
  }

  /** The event as a protocol object. */
  get response(): StreamResponse {
    return this.item.response;
  }

  /** The opaque id to resume after; `undefined` if the agent numbers no events. */
  get id(): string | undefined {
    return this.item.id;
  }

  /**
   * Set after a break if the agent does not replay events. `"difference"`: computed from what was added to the task.
   * `"resync"`: the event is the whole task and replaces everything before it.
   */
  get recovered(): StreamItem["recovered"] {
    return this.item.recovered;
  }

  /** The event of the stream as JSON of version 1.0. */
  toJSON(): JsonObject {
    return toJson(this.response);
  }

  /** The members that `console.log` shows. */
  protected abstract members(): Readonly<Record<string, unknown>>;

  [Symbol.for("nodejs.util.inspect.custom")](_depth: number, options: object, inspect: Inspect): string {
    const { id, recovered } = this;
    return inspectWith("AnswerEvent", { ...this.members(), id, recovered }, options, inspect);
  }
}

/** The whole task, at the start of a stream or after a break. */
class TaskEvent extends AnyEvent<Task> {
  /** Distinguishes the kinds of events. */
  readonly type = "task";

  /** The task so far, as an answer. */
  get answer(): Answer {
    return new Answer(this.payload);
  }

  /** The task as a protocol object. */
  get task(): Task {
    return this.payload;
  }

  /** The state of the task. */
  get state(): StateName {
    return stateName(this.payload.status?.state);
  }

  /** The id of the task. */
  get taskId(): string {
    return this.payload.id;
  }

  /** The id of the context; `""` when the agent names none. */
  get contextId(): string {
    return this.payload.contextId;
  }

  protected override members() {
    const { type, answer } = this;
    return { type, answer };
  }
}

/** A direct reply, which is the whole answer. */
class MessageEvent extends AnyEvent<Message> {
  /** Distinguishes the kinds of events. */
  readonly type = "message";

  /** The reply as an answer. */
  get answer(): Answer {
    return new Answer(this.payload);
  }

  /** The reply as a protocol object. */
  get message(): Message {
    return this.payload;
  }

  /** The text of the reply. */
  get text(): string {
    return textOf(this.payload);
  }

  /** The id of the context; `""` when the agent names none. */
  get contextId(): string {
    return this.payload.contextId;
  }

  protected override members() {
    const { type, text, contextId } = this;
    return { type, text, contextId };
  }
}

/** A new state of the task, or a message about it. */
class StatusEvent extends AnyEvent<TaskStatusUpdateEvent> {
  /** Distinguishes the kinds of events. */
  readonly type = "status";

  /** The state of the task. */
  get state(): StateName {
    return stateName(this.payload.status?.state);
  }

  /** The text of the status message, such as progress, a question or a failure; `""` when there is none. */
  get text(): string {
    return textOf(this.payload.status?.message);
  }

  /** The status as a protocol object, with the whole message and the time. */
  get status(): TaskStatus | undefined {
    return this.payload.status;
  }

  /** Metadata of the event; empty when it has none. */
  get metadata(): JsonObject {
    return this.payload.metadata ?? {};
  }

  /** The id of the task. */
  get taskId(): string {
    return this.payload.taskId;
  }

  /** The id of the context; `""` when the agent names none. */
  get contextId(): string {
    return this.payload.contextId;
  }

  protected override members() {
    const { type, state, text, taskId, contextId } = this;
    return { type, state, text, taskId, contextId };
  }
}

/** An artifact, or a chunk of one. */
class ArtifactEvent extends AnyEvent<TaskArtifactUpdateEvent> {
  /** Distinguishes the kinds of events. */
  readonly type = "artifact";

  /** The id of the artifact. */
  get artifactId(): string {
    return this.payload.artifact?.artifactId ?? "";
  }

  /** The name of the artifact; `""` if the event does not say, as later chunks may. */
  get name(): string {
    return this.payload.artifact?.name ?? "";
  }

  /** The text of this chunk. */
  get delta(): string {
    return textOf(this.payload.artifact?.parts ?? []);
  }

  /** Whether the chunk is appended to the artifact. Otherwise it starts or replaces the artifact. */
  get append(): boolean {
    return this.payload.append;
  }

  /** Whether this is the artifact's last chunk. */
  get last(): boolean {
    return this.payload.lastChunk;
  }

  /** The first data part of this chunk as plain JSON: a copy. `undefined` when there is none. */
  data(): JsonValue | undefined;
  /** The first data part as a Standard Schema makes it. Throws `invalidAgentResponse` with the path of each violation. */
  data<T>(schema: StandardSchema<T>): T;
  data<T>(schema?: StandardSchema<T>): T | JsonValue | undefined {
    return dataIn(this.parts, schema);
  }

  /** The files of this chunk. */
  get files(): readonly FileContent[] {
    return filesIn(this.parts);
  }

  /** This chunk as a protocol object. */
  get artifact(): Artifact | undefined {
    return this.payload.artifact;
  }

  /** The id of the task. */
  get taskId(): string {
    return this.payload.taskId;
  }

  /** The id of the context; `""` when the agent names none. */
  get contextId(): string {
    return this.payload.contextId;
  }

  private get parts(): PartList {
    return { parts: this.payload.artifact?.parts ?? [], path: "artifact.parts", code };
  }

  protected override members() {
    const { type, artifactId, name, delta, append, last, taskId } = this;
    return { type, artifactId, name, delta, append, last, taskId };
  }
}

/**
 * Converts the body of a webhook call into an event. Returns `undefined` for a kind of event that this version of the
 * protocol does not have.
 *
 * @example
 * ```ts
 * const event = eventOf(fromJson("StreamResponse", JSON.parse(body)));
 * if (event?.type === "status") console.log(event.taskId, event.state);
 * ```
 */
export function eventOf(response: StreamResponse): AnswerEvent | undefined {
  return toAnswerEvent({ response });
}

/** The event of a stream's item; `undefined` for one of a kind that this version of the protocol does not have. */
export function toAnswerEvent(item: StreamItem): AnswerEvent | undefined {
  const { payload } = item.response;
  switch (payload.case) {
    case "artifactUpdate":
      return new ArtifactEvent(item, payload.value);
    case "statusUpdate":
      return new StatusEvent(item, payload.value);
    case "task":
      return new TaskEvent(item, payload.value);
    case "message":
      return new MessageEvent(item, payload.value);
    default:
      return undefined;
  }
}
