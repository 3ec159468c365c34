import type { JsonValue } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import { A2AError, type Part } from "trivium";
import { mediaTypeOf, supportedMediaTypes } from "./report.js";

/** Something to analyse: all plain text of a message together, or one file. */
export interface Document {
  /** Its path in the request. */
  readonly field: string;
  readonly name?: string | undefined;
  readonly mediaType: string;
  readonly content: string;
}

/** Bytes of all documents of a message, so that their analysis does not keep other callers waiting. */
export const maxBytes = 256 * 1024;

/**
 * Returns the documents of a message without blank parts. Throws `contentTypeNotSupported` for a part of
 * another type or behind a URL, `invalidParams` for bytes that are no text, and `contentTooLarge`.
 */
export function documentsOf(parts: readonly Part[]): readonly Document[] {
  const prose = parts.flatMap((part) => (isProse(part) ? [String(part.content.value)] : []));
  const files = parts.flatMap((part, index) => (isProse(part) ? [] : [documentOf(part, `message.parts[${index}]`)]));
  const text: Document = { field: "message.parts", mediaType: "text/plain", content: prose.join("\n\n") };
  const documents = [text, ...files].filter(({ content }) => content.trim() !== "");
  const bytes = documents.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  if (bytes > maxBytes) {
    throw new A2AError("contentTooLarge", `${bytes} bytes to analyse are over this agent's limit of ${maxBytes}`);
  }
  return documents;
}

function isProse({ content, filename, mediaType }: Part): boolean {
  return content.case === "text" && filename === "" && mediaTypeOf(undefined, mediaType) === "text/plain";
}

function documentOf(part: Part, field: string): Document {
  const { content, filename } = part;
  if (content.case === "url") {
    throw unsupportedType(`${field} is a URL, and this agent fetches none: send the content itself`);
  }
  const declaredType = content.case === "data" ? "application/json" : part.mediaType;
  const mediaType = mediaTypeOf(filename, declaredType);
  if (!supportedMediaTypes.some((type) => type === mediaType)) {
    const typeText = mediaType ?? "a file of unknown type";
    throw unsupportedType(`${field} is ${typeText}, this agent takes ${supportedMediaTypes.join(", ")}`);
  }
  return { field, name: filename || undefined, mediaType: mediaType ?? "", content: contentOf(part, field) };
}

function unsupportedType(message: string): A2AError {
  const typesText = supportedMediaTypes.join(",");
  return new A2AError("contentTypeNotSupported", message, { metadata: { accepted: typesText } });
}

function contentOf({ content }: Part, field: string): string {
  switch (content.case) {
    case "raw":
      return decode(content.value, field);
    case "data":
      return JSON.stringify(jsonOf(content.value));
    default:
      return content.value ?? "";
  }
}

/** The JSON that a `data` part carries. */
function jsonOf({ kind }: Value): JsonValue {
  switch (kind.case) {
    case "structValue":
      return Object.fromEntries(Object.entries(kind.value.fields).map(([key, value]) => [key, jsonOf(value)]));
    case "listValue":
      return kind.value.values.map(jsonOf);
    case "nullValue":
    case undefined:
      return null;
    default:
      return kind.value;
  }
}

function decode(bytes: Uint8Array, field: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw unreadable(field, "it is not text in UTF-8", cause);
  }
}

/** An error of the caller: a part that does not match its declared type. */
export function unreadable(field: string, reason: string, cause: unknown): A2AError {
  const violations = [{ field, description: `cannot be read: ${reason}` }];
  return new A2AError("invalidParams", `${field} cannot be read: ${reason}`, { violations, cause });
}
