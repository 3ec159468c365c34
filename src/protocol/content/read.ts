import type { JsonValue } from "@bufbuild/protobuf";
import { bytesFromBase64 } from "../base64.js";
import { copyJson } from "../codec/json/compact-value.js";
import { valueToJson } from "../codec/json/struct.js";
import { type Artifact, type Message, type Part, Role, type TaskStatus, typeNames } from "../model.js";
import { type ContentErrorCode, checkSchema, contentError, type StandardSchema } from "./schema.js";

// Content: reads the texts, data and files of parts, and protocol objects as JSON.

/** Anything with content: a message, an artifact, a status (by its message), a part, or several parts. */
export type PartSource = Message | Artifact | TaskStatus | Part | readonly Part[];

/** A file that a message or an artifact holds or names. */
export interface FileContent {
  /** `undefined` when the part has no file name. */
  readonly name: string | undefined;
  /** `undefined` when the part has no media type. */
  readonly mediaType: string | undefined;
  /**
   * URL of the file; `undefined` if its bytes are in the part, also as a `data:` URL. The peer chose it: fetch it with
   * care.
   */
  readonly url: string | undefined;
  /**
   * Returns a copy of the bytes in the part. Throws an `A2AError` for a file given by its URL: `invalidParams` if a
   * caller sent it, `invalidAgentResponse` if an agent did.
   */
  readonly bytes: () => Uint8Array<ArrayBuffer>;
}

/** Parts with their place in what a peer sent. */
export interface PartList {
  readonly parts: readonly Part[];
  /** Path of the list, or of the one part. */
  readonly path: string;
  readonly isOnePart?: boolean | undefined;
  /** The code of errors about these parts. */
  readonly code: ContentErrorCode;
}

/** Reads the first data part. */
export interface ReadData {
  /** Returns a copy as plain JSON; `undefined` when there is no data part. */
  (): JsonValue | undefined;
  /**
   * Returns what the schema makes of it. Throws an `A2AError` with the path of each violation: `invalidParams` for what
   * a caller sent, `invalidAgentResponse` for what an agent sent. Throws a `TypeError` for an asynchronous schema.
   */
  <T>(schema: StandardSchema<T>): T;
}

/**
 * Returns the text parts, joined; `""` without any.
 *
 * @example
 * ```ts
 * for (const each of task.artifacts) console.log(each.name, textOf(each));
 * ```
 */
export function textOf(source: PartSource | undefined): string {
  const parts = isParts(source) ? source : toPartList(source).parts;
  const [first] = parts;
  if (parts.length === 1 && first !== undefined) return first.content.case === "text" ? first.content.value : "";
  return parts.map((each) => (each.content.case === "text" ? each.content.value : "")).join("");
}

/**
 * Returns a copy of the first data part as plain JSON; `undefined` without one.
 *
 * @example
 * ```ts
 * const booking: JsonValue | undefined = dataOf(message);
 * ```
 */
export function dataOf(source: PartSource | undefined): JsonValue | undefined;
/**
 * Returns the first data part as a Standard Schema parses it. Throws an `A2AError` with the path of each violation,
 * such as `message.parts[0].data.when`: `invalidAgentResponse` for an artifact, a status or a message of an agent, else
 * `invalidParams`. Throws a `TypeError` for an asynchronous schema.
 *
 * @example
 * ```ts
 * const Booking = z.object({ berth: z.string(), nights: z.number().int() });
 * const { berth, nights } = dataOf(message, Booking);
 * ```
 */
export function dataOf<T>(source: PartSource | undefined, schema: StandardSchema<T>): T;
export function dataOf<T>(source: PartSource | undefined, schema?: StandardSchema<T>): T | JsonValue | undefined {
  return dataIn(toPartList(source), schema);
}

/** `dataOf` for what the source is when the data is read. */
export function dataReader(source: () => PartSource): ReadData {
  function read(): JsonValue | undefined;
  function read<T>(schema: StandardSchema<T>): T;
  function read<T>(schema?: StandardSchema<T>): T | JsonValue | undefined {
    return dataIn(toPartList(source()), schema);
  }
  return read;
}

/**
 * Returns the files in order, with their bytes or their URL.
 *
 * @example
 * ```ts
 * for (const { name, url, bytes } of filesOf(message)) {
 *   if (url === undefined) await save(name, bytes());
 * }
 * ```
 */
export function filesOf(source: PartSource | undefined): FileContent[] {
  return filesIn(toPartList(source));
}

/** `dataOf` for parts whose place is known. */
export function dataIn<T>(list: PartList, schema: StandardSchema<T> | undefined): T | JsonValue | undefined {
  const { parts, code } = list;
  const index = parts.findIndex(({ content }) => content.case === "data");
  const content = parts[index]?.content;
  const json = content?.case === "data" ? copyJson(valueToJson(content.value)) : undefined;
  if (schema === undefined) return json;
  const path = json === undefined ? list.path : `${readPath(list, index)}.data`;
  return checkSchema(schema, json, { path, code });
}

/** `filesOf` for parts whose place is known. */
export function filesIn(list: PartList): FileContent[] {
  return list.parts.flatMap((part, index) => fileIn(part, index, list) ?? []);
}

function fileIn({ content, filename, mediaType }: Part, index: number, list: PartList): FileContent | undefined {
  if (content.case !== "raw" && content.case !== "url") return undefined;
  const data = content.case === "url" ? readDataUrl(content.value) : undefined;
  return {
    name: filename === "" ? undefined : filename,
    mediaType: mediaType || data?.mediaType || undefined,
    url: content.case === "url" && data === undefined ? content.value : undefined,
    bytes: () => {
      if (content.case === "raw") return new Uint8Array(content.value);
      if (data !== undefined) {
        const bytes = bytesInUrl(data);
        if (bytes !== undefined) return bytes;
        throw contentError(list.code, { field: readPath(list, index), description: "has a malformed data: URL" });
      }
      const description = "gives the URL of a file whose bytes are needed: send them as raw, or fetch the URL";
      throw contentError(list.code, { field: readPath(list, index), description });
    },
  };
}

interface DataUrl {
  readonly mediaType: string;
  readonly isBase64: boolean;
  readonly text: string;
}

/** The parts of a `data:` URL (RFC 2397). Without a type, parameters are those of plain text. */
function readDataUrl(url: string): DataUrl | undefined {
  const comma = url.indexOf(",");
  if (comma < 0 || !/^data:/i.test(url)) return undefined;
  const head = url.slice(5, comma);
  const type = head.replace(/;\s*base64\s*$/i, "");
  const mediaType = type.startsWith(";") ? `text/plain${type}` : type;
  return { mediaType, isBase64: type !== head, text: url.slice(comma + 1) };
}

function bytesInUrl({ text, isBase64 }: DataUrl): Uint8Array<ArrayBuffer> | undefined {
  const octets = new TextEncoder().encode(text.replace(/#.*$/s, ""));
  // Percent-encoded octets need not be UTF-8. They become fewer, so that they are decoded in place.
  let length = 0;
  for (let index = 0; index < octets.length; index++) {
    const octet = octets[index] ?? 0;
    const hex = octet === percent ? String.fromCharCode(...octets.subarray(index + 1, index + 3)) : "";
    const isEncoded = /^[\da-f]{2}$/i.test(hex);
    octets[length++] = isEncoded ? Number.parseInt(hex, 16) : octet;
    if (isEncoded) index += 2;
  }
  const content = octets.slice(0, length);
  if (!isBase64) return content;
  const decoded = bytesFromBase64(new TextDecoder().decode(content).replace(/\s/g, ""));
  return decoded && new Uint8Array(decoded);
}

const percent = 0x25;

function readPath({ path, isOnePart = false }: PartList, index: number): string {
  return isOnePart ? path : `${path}[${index}]`;
}

function isParts(source: PartSource | undefined): source is readonly Part[] {
  return Array.isArray(source);
}

function toPartList(source: PartSource | undefined): PartList {
  if (source === undefined || source === null) return { parts: [], path: "parts", code: "invalidParams" };
  if (isParts(source)) return { parts: source, path: "parts", code: "invalidParams" };
  switch (source.$typeName) {
    case typeNames.Message: {
      const code = source.role === Role.AGENT ? "invalidAgentResponse" : "invalidParams";
      return { parts: source.parts, path: "message.parts", code };
    }
    case typeNames.Artifact:
      return { parts: source.parts, path: "artifact.parts", code: "invalidAgentResponse" };
    case typeNames.TaskStatus:
      return { parts: source.message?.parts ?? [], path: "status.message.parts", code: "invalidAgentResponse" };
    case typeNames.Part:
      return { parts: [source], path: "part", isOnePart: true, code: "invalidParams" };
    default:
      throw new TypeError(`content must be a message, an artifact, a status or parts, not ${describeSource(source)}`);
  }
}

function describeSource(source: never): string {
  const { $typeName } = Object(source) as { readonly $typeName?: unknown };
  return typeof $typeName === "string" ? $typeName : `a value of type ${typeof source}`;
}
