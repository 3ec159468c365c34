import type { Message as AnyMessage, JsonValue } from "@bufbuild/protobuf";
import { readJson } from "../../protocol/codec/json/reader.js";
import { dynamic, isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { A2AError } from "../../protocol/errors.js";
import { type SendMessageRequest, type StreamResponse, StreamResponseSchema, TaskState } from "../../protocol/model.js";
import type { Operation, StreamItem } from "../../protocol/operations.js";
import { isTerminal } from "../../protocol/states.js";
import { violationText } from "../../protocol/violations.js";
import type { EventHead, StreamReader } from "../codec.js";
import { taskFirst } from "../v0.3/first-task.js";
import { type KnownTask, upgradeEvent } from "./read-tasks.js";

/** Names of events that say nothing but that the stream is at its end. */
const endNames: ReadonlySet<unknown> = new Set(["close", "end"]);

/** One event of a peer; `undefined` for one of a kind that is not known. Throws `invalidAgentResponse`. */
function eventFromJson(json: JsonValue, known: KnownTask): StreamResponse | undefined {
  if (!isJsonObject(json)) throw unreadable("it is no object");
  const upgraded = upgradeEvent(json, known);
  if (upgraded === undefined) return undefined;
  const { message, violations } = readJson(StreamResponseSchema, upgraded, { lenient: true });
  const [first] = violations;
  if (first !== undefined) throw unreadable(violationText(first));
  return message;
}

/** One event that has to be one that is known. */
export function readEvent(json: JsonValue | undefined, request: AnyMessage | undefined): StreamResponse {
  const response = eventFromJson(json ?? null, taskOfRequest(request));
  if (response === undefined) throw unreadable("it is neither of a status nor of an artifact");
  return response;
}

function unreadable(reason: string): A2AError {
  return new A2AError("invalidAgentResponse", `an event cannot be read: ${reason}`);
}

/** The task that a stream is asked for by its request. */
function taskOfRequest(request: AnyMessage | undefined): KnownTask {
  if (request === undefined) return { taskId: "", contextId: "" };
  const { id, message } = dynamic(request);
  if (typeof id === "string") return { taskId: id, contextId: "" };
  const { taskId = "", contextId = "" } = (message as SendMessageRequest["message"]) ?? {};
  return { taskId, contextId };
}

/** The client end of one stream. Agents that leave it open behind its end are not waited for. */
export class V01StreamReader implements StreamReader<JsonValue> {
  readonly #known: KnownTask;
  readonly #begin: (item: StreamItem) => readonly StreamItem[];
  readonly #sends: boolean;
  #isOver = false;

  constructor(operation: Operation, request: AnyMessage | undefined) {
    this.#known = taskOfRequest(request);
    this.#begin = taskFirst(operation);
    this.#sends = operation.name === "sendStreamingMessage";
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  read(json: JsonValue, head?: EventHead): readonly StreamItem[] {
    if (endNames.has(head?.name)) {
      this.#isOver = true;
      // Whatever such an event holds beside its name is still an event.
      if (json === null || (isJsonObject(json) && Object.keys(json).length === 0)) return [];
    }
    const response = json === null ? undefined : eventFromJson(json, this.#known);
    if (response === undefined) return [];
    this.#isOver ||= this.#isLast(response, json);
    return this.#begin({ response });
  }

  // An agent in the field marks the last chunk of an artifact as final, with its status still to come, and asks for input
  // without ending the stream or marking anything.
  #isLast({ payload }: StreamResponse, json: JsonValue): boolean {
    if (payload.case !== "statusUpdate" && payload.case !== "task") return false;
    const state = payload.value.status?.state ?? TaskState.UNSPECIFIED;
    if (isTerminal(state) || (this.#sends && state === TaskState.INPUT_REQUIRED)) return true;
    return isJsonObject(json) && json["final"] === true;
  }
}
