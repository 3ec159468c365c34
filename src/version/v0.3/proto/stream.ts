import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { type StreamResponse, type Task, typeNames } from "../../../protocol/model.js";
import type { Operation, StreamItem } from "../../../protocol/operations.js";
import type { EventHead, StreamReader, StreamWriter, WireEvent } from "../../codec.js";
import { encodeOnce } from "../../encode-once.js";
import type { FileBytes } from "../../options.js";
import { isLastEvent, streamFinals } from "../finals.js";
import { emitTaskFirst } from "../first-task.js";
import { resumePoint } from "../resume-point.js";
import type { WireForm } from "./parts.js";

// Streams of 0.3 on the bindings that use its schema. The encoding of an event depends on its reader: whether the event
// closes the stream, and the form of file bytes. Each combination is encoded once, for all streams.

type Encode<T> = (response: StreamResponse, form: WireForm, final: boolean) => T;

/** Encodes an event for one reader. */
export type EncodeEvent<T> = (item: StreamItem, fileBytes: FileBytes, final: boolean) => T;

export function eventEncoder<T extends object | string>(encode: Encode<T>, references: boolean): EncodeEvent<T> {
  const once = (fileBytes: FileBytes, final: boolean) =>
    encodeOnce((response) => encode(response, { fileBytes, references }, final));
  const forms = {
    base64: { open: once("base64", false), closing: once("base64", true) },
    raw: { open: once("raw", false), closing: once("raw", true) },
  };
  return (item, fileBytes, final) => forms[fileBytes][final ? "closing" : "open"](item);
}

/** Server end of a stream. Sends exactly one final status, after the last event if necessary. */
export function closingWriter<T>(
  operation: Operation,
  request: AnyMessage,
  encode: (item: StreamItem, final: boolean) => T,
): StreamWriter<T> {
  const finals = streamFinals(operation, request);
  return {
    write: (item) => [{ payload: encode(item, finals.isFinal(item.response)), id: item.id }],
    end(): readonly WireEvent<T>[] {
      const value = finals.closing();
      if (value === undefined) return [];
      const response: StreamResponse = {
        $typeName: typeNames.StreamResponse,
        payload: { case: "statusUpdate", value },
      };
      return [{ payload: encode({ response }, true) }];
    },
  };
}

/** An event read from the wire. */
export interface ReadEvent {
  readonly response: StreamResponse;
  /** Whether the sender marked it as the last event. */
  readonly final: boolean;
}

/** Client end of a stream. Skips events of unknown kinds and any after the last. */
export function closingReader<T>(
  operation: Operation,
  request: AnyMessage | undefined,
  readEvent: (payload: T, head: EventHead | undefined) => ReadEvent,
): StreamReader<T> {
  const begin = emitTaskFirst(operation);
  let isOver = false;
  return {
    read(payload, head): readonly StreamItem[] {
      if (isOver) return [];
      const { response, final } = readEvent(payload, head);
      if (response.payload.case === undefined) return [];
      if (response.payload.case === "task") withoutHistory(response.payload.value, request);
      isOver = final || isLastEvent(response);
      return begin({ response, id: resumePoint(head?.id) });
    },
    get isOver() {
      return isOver;
    },
  };
}

/** Clears the history of a task if the caller requested none, which 0.3's schema cannot express to the agent. */
export function withoutHistory(task: Task, request: AnyMessage | undefined): void {
  if (request !== undefined && readHistoryLength(request) === 0) task.history = [];
}

interface HistoryOption {
  readonly historyLength?: number;
}

function readHistoryLength(
  request: AnyMessage & HistoryOption & { readonly configuration?: HistoryOption },
): number | undefined {
  const { historyLength, configuration } = request;
  return configuration?.historyLength ?? historyLength;
}
