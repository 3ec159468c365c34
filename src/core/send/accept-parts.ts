import { noop } from "../../protocol/async/noop.js";
import { A2AError } from "../../protocol/errors.js";
import type { Message, Part } from "../../protocol/model.js";

/**
 * Refuses parts whose media type is not among the agent's input modes, if its card lists them (spec 3.1.1). A part
 * without a media type passes: text counts as plain text, a value as JSON, and only the agent can judge a file.
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
