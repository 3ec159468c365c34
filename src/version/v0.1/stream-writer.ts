import { type Message as AnyMessage, create, type JsonObject } from "@bufbuild/protobuf";
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  type SendMessageRequest,
  type StreamResponse,
  type Task,
  type TaskArtifactUpdateEvent,
  TaskState,
  type TaskStatusUpdateEvent,
  typeNames,
} from "../../protocol/model.js";
import type { Operation, OperationName, StreamItem } from "../../protocol/operations.js";
import { endsBlockingSend, isInterrupted, isTerminal } from "../../protocol/states.js";
import type { StreamWriter, WireEvent } from "../codec.js";
import { encodeOnce } from "../encode-once.js";
import { artifactToJson, completedTask, statusToJson } from "./write-objects.js";

// Streams of 0.1 consist of statuses and artifacts; the status that ends one is marked as final. They have no snapshot
// and no event ids to resume from.

/**
 * True for an event that ends a stream of 0.1, which is any event in which the task waits for its caller. For a send, a
 * request for input ends the stream only if the core ends it too, since the question may be for another caller.
 */
export function endsStream({ payload }: StreamResponse, operation: OperationName): boolean {
  switch (payload.case) {
    case "task":
      // A send to a waiting task begins with a snapshot of that task.
      return operation === "subscribeToTask"
        ? endsBlockingSend(readState(payload.value))
        : isTerminal(readState(payload.value));
    case "statusUpdate": {
      const state = readState(payload.value);
      return state === TaskState.INPUT_REQUIRED ? operation === "subscribeToTask" : endsBlockingSend(state);
    }
    default:
      return payload.case === "message";
  }
}

function readState({ status }: Pick<Task, "status">): TaskState {
  return status?.state ?? TaskState.UNSPECIFIED;
}

// One client drops every event that has neither of these names.
const statusName = "task_status_update";
const artifactName = "task_artifact_update";

// The text of an event is the same in all streams, except for the final mark and the artifact number. It is encoded
// once for each of these.
const statusTexts = [false, true].map((final) =>
  encodeOnce(({ payload }) =>
    payload.case === "statusUpdate" ? JSON.stringify(statusJson(payload.value, final)) : "null",
  ),
);
const artifactTexts = Array.from({ length: 64 }, (_, index) => encodeOnce((response) => artifactText(response, index)));

function statusJson({ taskId, status, metadata }: TaskStatusUpdateEvent, final: boolean): JsonObject {
  return { id: taskId, status: statusToJson(status), final, ...(metadata === undefined ? {} : { metadata }) };
}

function artifactText({ payload }: StreamResponse, index: number): string {
  return payload.case === "artifactUpdate" ? JSON.stringify(artifactJson(payload.value, index)) : "null";
}

function artifactJson(event: TaskArtifactUpdateEvent, index: number): JsonObject {
  const { taskId, artifact = create(ArtifactSchema), append, lastChunk, metadata } = event;
  const json = artifactToJson(artifact, index, { append, lastChunk });
  return { id: taskId, artifact: json, ...(metadata === undefined ? {} : { metadata }) };
}

/** Returns the JSON of one event outside a stream, without knowledge of earlier events. */
export function eventToJson(response: StreamResponse): JsonObject {
  const { payload } = response;
  const final = endsStream(response, "subscribeToTask");
  switch (payload.case) {
    case "task":
      return { id: payload.value.id, status: statusToJson(payload.value.status), final };
    case "message":
      return { ...completedTask(payload.value), final };
    case "statusUpdate":
      return statusJson(payload.value, final);
    case "artifactUpdate":
      return artifactJson(payload.value, 0);
    default:
      return {};
  }
}

/** Server end of one stream. */
export class V01StreamWriter implements StreamWriter<string> {
  readonly #operation: OperationName;
  readonly #request: AnyMessage;
  /** Artifact ids to numbers, in the order of first appearance. */
  readonly #numbers = new Map<string, number>();
  /** A request for input, held back until it is known whether the core ends the stream after it. */
  #pendingQuestion: StreamItem | undefined;
  #lastStatus: TaskStatusUpdateEvent | undefined;
  #isClosed = false;

  constructor({ name }: Operation, request: AnyMessage) {
    this.#operation = name;
    this.#request = request;
  }

  write(item: StreamItem): readonly WireEvent<string>[] {
    const { payload } = item.response;
    const before = this.#release(false);
    switch (payload.case) {
      case "task":
        return [...before, ...this.#task(payload.value, endsStream(item.response, this.#operation))];
      case "message":
        return [...before, this.#message(payload.value)];
      case "statusUpdate":
        return [...before, ...this.#status(item, payload.value)];
      case "artifactUpdate":
        return [...before, this.#artifact(item, payload.value.artifact)];
      default:
        return before;
    }
  }

  end(): readonly WireEvent<string>[] {
    const question = this.#release(true);
    if (this.#isClosed || this.#lastStatus === undefined) return question;
    return [this.#event(this.#lastStatus, true)];
  }

  #release(final: boolean): readonly WireEvent<string>[] {
    const question = this.#pendingQuestion;
    this.#pendingQuestion = undefined;
    return question === undefined ? [] : [this.#statusEvent(question, final)];
  }

  #task(task: Task, final: boolean): readonly WireEvent<string>[] {
    const { id: taskId, contextId, status } = task;
    const artifacts = task.artifacts.map((artifact) => {
      const chunk = { append: false, lastChunk: isTerminal(readState(task)) };
      const json = artifactToJson(artifact, this.#findNumber(artifact), chunk);
      return { name: artifactName, payload: JSON.stringify({ id: taskId, artifact: json }) };
    });
    if (status === undefined) return artifacts;
    this.#lastStatus = { $typeName: typeNames.TaskStatusUpdateEvent, taskId, contextId, status };
    if (final) return [...artifacts, this.#event(this.#lastStatus, true)];
    // A caller that answers a question does not get the question again.
    return isInterrupted(status.state) ? artifacts : [this.#event(this.#lastStatus, false), ...artifacts];
  }

  // A direct message is sent as the final status of a task that does not exist.
  #message(message: Message): WireEvent<string> {
    this.#isClosed = true;
    const { status = null } = completedTask(message);
    const { message: requestMessage } = this.#request as SendMessageRequest;
    const json = { id: message.taskId || (requestMessage?.taskId ?? ""), status, final: true };
    return { name: statusName, payload: JSON.stringify(json) };
  }

  #status(item: StreamItem, event: TaskStatusUpdateEvent): readonly WireEvent<string>[] {
    this.#lastStatus = event;
    if (endsStream(item.response, this.#operation)) return [this.#statusEvent(item, true)];
    if (readState(event) !== TaskState.INPUT_REQUIRED) return [this.#statusEvent(item, false)];
    this.#pendingQuestion = item;
    return [];
  }

  #artifact(item: StreamItem, artifact: Artifact | undefined): WireEvent<string> {
    const number = artifact === undefined ? 0 : this.#findNumber(artifact);
    const text = artifactTexts[number]?.(item) ?? artifactText(item.response, number);
    return { name: artifactName, payload: text };
  }

  #findNumber({ artifactId }: Artifact): number {
    const number = this.#numbers.get(artifactId) ?? this.#numbers.size;
    this.#numbers.set(artifactId, number);
    return number;
  }

  #statusEvent(item: StreamItem, isEnd: boolean): WireEvent<string> {
    const final = isEnd && !this.#isClosed;
    this.#isClosed ||= final;
    return { name: statusName, payload: statusTexts[final ? 1 : 0]?.(item) ?? "null" };
  }

  #event(event: TaskStatusUpdateEvent, isEnd: boolean): WireEvent<string> {
    const final = isEnd && !this.#isClosed;
    this.#isClosed ||= final;
    return { name: statusName, payload: JSON.stringify(statusJson(event, final)) };
  }
}
