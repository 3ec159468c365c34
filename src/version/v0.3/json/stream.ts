import type { Message as AnyMessage, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../protocol/codec/outline/dynamic.js";
import type { Operation, StreamItem } from "../../../protocol/operations.js";
import type { StreamReader, StreamWriter } from "../../codec.js";
import { encodeOnce } from "../../encode-once.js";
import { closingWriter, emitTaskFirst, isLastEvent, resumePoint } from "../streams.js";
import { readEvent } from "./codec.js";
import { eventToKindJson } from "./write.js";

/** The text of an event that is not final, encoded once. */
export const kindJsonText = encodeOnce((response) => JSON.stringify(eventToKindJson(response)));

const finalText = encodeOnce((response) => JSON.stringify(eventToKindJson(response, true)));

/** Server end of a stream of kind-JSON. */
export function kindJsonStreamWriter(operation: Operation, request: AnyMessage): StreamWriter<string> {
  return closingWriter(operation, request, (item, final) => (final ? finalText(item) : kindJsonText(item)));
}

/** Client end of a stream of kind-JSON. Skips empty events and those of unknown kinds. */
export function kindJsonStreamReader(operation: Operation): StreamReader<JsonValue> {
  const begin = emitTaskFirst(operation);
  let isOver = false;
  return {
    read(json, head): readonly StreamItem[] {
      if (json === null) return [];
      const response = readEvent(operation.name, json);
      if (response === undefined) return [];
      const isFinal = response.payload.case === "statusUpdate" && isJsonObject(json) && json["final"] === true;
      isOver ||= isFinal || isLastEvent(response);
      return begin({ response, id: resumePoint(head?.id) });
    },
    get isOver() {
      return isOver;
    },
  };
}
