import { noop } from "../../protocol/async/noop.js";
import { A2AError } from "../../protocol/errors.js";
import type { Message, Part } from "../../protocol/model.js";

/**
 * Refuses parts whose media type is not one of the agent's input modes, when its author has named them (spec 3.1.1).
 * A part that does not say what it is passes: a text is plain text, a value is JSON, and of a file only the agent knows.
 */
export function createPartCheck(inputModes: readonly string[] | undefined): (message: Message) => void {
  if (inputModes === undefined) return noop;
  const accepted = inputModes.map((mode) => essence(mode));
  return ({ parts }) => {
    parts.forEach((part, index) => {
      const mediaType = mediaTypeOf(part);
      if (mediaType === undefined || accepted.some((mode) => matches(mode, mediaType))) return;
      throw new A2AError("contentTypeNotSupported", `${mediaType} is not accepted, ${inputModes.join(", ")} is`, {
        metadata: { field: `message.parts[${index}]`, mediaType, accepted: inputModes.join(",") },
      });
    });
  };
}

const impliedTypes: Readonly<Record<string, string>> = { text: "text/plain", data: "application/json" };

function mediaTypeOf({ mediaType, content }: Part): string | undefined {
  return mediaType === "" ? impliedTypes[content.case ?? ""] : essence(mediaType);
}

function essence(mediaType: string): string {
  return (mediaType.split(";", 1)[0] ?? "").trim().toLowerCase();
}

function matches(mode: string, mediaType: string): boolean {
  return mode === "*/*" || mode === mediaType || (mode.endsWith("/*") && mediaType.startsWith(mode.slice(0, -1)));
}
