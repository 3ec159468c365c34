import type { Message as AnyMessage, JsonValue } from "@bufbuild/protobuf";
import { readJson } from "../../protocol/codec/json/reader.js";
import { dynamic, isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { type SendMessageRequest, type StreamResponse, StreamResponseSchema, TaskState } from "../../protocol/model.js";
import type { Operation, StreamItem } from "../../protocol/operations.js";
import { isTerminal } from "../../protocol/states.js";
import { violationText } from "../../protocol/violations.js";
import type { EventHead, StreamReader } from "../codec.js";
import { unreadableEvent } from "../codec-errors.js";
import { emitTaskFirst } from "../v0.3/streams.js";
import { type NamedTask, upgradeEvent } from "./read-objects.js";

/** Names of events that only mark the end of the stream. */
const endNames: ReadonlySet<unknown> = new Set(["close", "end"]);

/** Reads one event of a peer. Returns `undefined` for an unknown kind. Throws `invalidAgentResponse`. */
function eventFromJson(json: JsonValue, namedTask: NamedTask): StreamResponse | undefined {
  if (!isJsonObject(json)) throw unreadableEvent("it is not an object");
  const event = upgradeEvent(json, namedTask);
  if (event === undefined) return undefined;
  const { message, violations } = readJson(StreamResponseSchema, event, { lenient: true });
  const [violation] = violations;
  if (violation !== undefined) throw unreadableEvent(violationText(violation));
  return message;
}

/** Reads one event. Throws `invalidAgentResponse` for an unknown kind. */
export function readEvent(json: JsonValue | undefined, request: AnyMessage | undefined): StreamResponse {
  const response = eventFromJson(json ?? null, findNamedTask(request));
  if (response === undefined) throw unreadableEvent("it is neither of a status nor of an artifact");
  return response;
}

/** Returns the task that the request of a stream names. */
function findNamedTask(request: AnyMessage | undefined): NamedTask {
  if (request === undefined) return { taskId: "", contextId: "" };
  const { id, message } = dynamic(request);
  if (typeof id === "string") return { taskId: id, contextId: "" };
  const { taskId = "", contextId = "" } = (message as SendMessageRequest["message"]) ?? {};
  return { taskId, contextId };
}

/** Client end of one stream. It is over after its last event, even if the agent leaves it open. */
export class V01StreamReader implements StreamReader<JsonValue> {
  readonly #namedTask: NamedTask;
  readonly #begin: (item: StreamItem) => readonly StreamItem[];
  readonly #sends: boolean;
  #isOver = false;

  constructor(operation: Operation, request: AnyMessage | undefined) {
    this.#namedTask = findNamedTask(request);
    this.#begin = emitTaskFirst(operation);
    this.#sends = operation.name === "sendStreamingMessage";
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  read(json: JsonValue, head?: EventHead): readonly StreamItem[] {
    if (endNames.has(head?.name)) {
      this.#isOver = true;
      // Such an event may still carry a payload, which is read as an event.
      if (json === null || (isJsonObject(json) && Object.keys(json).length === 0)) return [];
    }
    const response = json === null ? undefined : eventFromJson(json, this.#namedTask);
    if (response === undefined) return [];
    this.#isOver ||= this.#isLast(response, json);
    return this.#begin({ response });
  }

  // One known agent marks the last chunk of an artifact as final before it sends the status. It also asks for input
  // without ending the stream or marking an event as final.
  #isLast({ payload }: StreamResponse, json: JsonValue): boolean {
    if (payload.case !== "statusUpdate" && payload.case !== "task") return false;
    const state = payload.value.status?.state ?? TaskState.UNSPECIFIED;
    if (isTerminal(state) || (this.#sends && state === TaskState.INPUT_REQUIRED)) return true;
    return isJsonObject(json) && json["final"] === true;
  }
}
