import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { createNameCheck } from "./check/rules.js";
import { copyJson } from "./codec/json/compact-value.js";
import { type FreeJsonCheck, valueFromJson } from "./codec/json/struct.js";
import { type Part, typeNames } from "./model.js";
import { violationText } from "./violations.js";

/** Options of a part of any kind (spec 4.1.6). */
export interface PartOptions {
  /** Media type of the content. Default: the one that the function names, else none. */
  readonly mediaType?: string | undefined;
  /** File name, for the reader to store it. Default: none. */
  readonly filename?: string | undefined;
  /** Metadata of the part. Default: none. */
  readonly metadata?: JsonObject | undefined;
}

const checkPartOptions = createNameCheck<PartOptions>("the options of a part", {
  mediaType: true,
  filename: true,
  metadata: true,
});

/** The content of a message or an artifact: a text, one part, or several of either. */
export type Content = string | Part | readonly (string | Part)[];

/**
 * Creates a text part. Default media type: none, which means plain text.
 *
 * @example
 * ```ts
 * const part = text("# Tides", { mediaType: "text/markdown", filename: "tides.md" });
 * ```
 */
export function text(value: string, options?: PartOptions): Part {
  return part({ case: "text", value }, options);
}

/**
 * Creates a part with any JSON value. Default media type: `application/json`. Throws a `TypeError` for a value that
 * JSON cannot represent.
 *
 * @example
 * ```ts
 * const answer = await client.send(["Book this berth", data({ berth: "N4", nights: 2 })]);
 * ```
 */
export function data(value: JsonValue, options: PartOptions = {}): Part {
  const check: FreeJsonCheck = { maxDepth: Number.POSITIVE_INFINITY, lenient: true, violations: [] };
  const content: Part["content"] = { case: "data", value: valueFromJson(copyJson(value), check, 1) };
  const [first] = check.violations;
  if (first !== undefined) throw new TypeError(`data: ${violationText(first)}`);
  return part(content, { mediaType: "application/json", ...options });
}

/**
 * Creates a file part from bytes, which it copies, or from an absolute URL. Throws a `TypeError` for anything else,
 * such as a path; `fileFrom` reads files and streams.
 *
 * @example
 * ```ts
 * const answer = await client.send([
 *   "Compare these images",
 *   file(new Uint8Array([0x89, 0x50, 0x4e, 0x47]), { mediaType: "image/png", filename: "harbor.png" }),
 *   file("https://images.example/harbor.png", { mediaType: "image/png" }),
 * ]);
 * ```
 */
export function file(source: Uint8Array | URL | string, options?: PartOptions): Part {
  if (source instanceof Uint8Array) return part({ case: "raw", value: new Uint8Array(source) }, options);
  if (source instanceof URL) return part({ case: "url", value: source.href }, options);
  if (typeof source === "string" && isAbsoluteUrl(source)) return part({ case: "url", value: source }, options);
  const actual = typeof source === "string" ? JSON.stringify(shorten(source)) : `a value of type ${typeof source}`;
  throw new TypeError(
    `file() takes a Uint8Array or an absolute URL, not ${actual}: ` +
      "use fileFrom() for a path or a stream, and fileOf() for a Blob",
  );
}

// The letter of a drive is no scheme.
function isAbsoluteUrl(text: string): boolean {
  return /^[a-z][a-z\d+.-]+:/i.test(text) && URL.canParse(text);
}

const excerptLength = 80;

function shorten(text: string): string {
  return text.length > excerptLength ? `${text.slice(0, excerptLength)}…` : text;
}

/**
 * Creates a file part from a `Blob` or `File`, with its name and media type.
 *
 * @example
 * ```ts
 * const part: Part = await fileOf(upload);
 * const answer = await client.send(["Summarize this file", part]);
 * ```
 */
export async function fileOf(blob: Blob, options: PartOptions = {}): Promise<Part> {
  const filename = blob instanceof File ? blob.name : undefined;
  const bytes = new Uint8Array(await blob.arrayBuffer());
  return part({ case: "raw", value: bytes }, { filename, mediaType: blob.type, ...options });
}

/**
 * Converts content to parts. Throws a `TypeError` for an empty list, since a message or an artifact needs at least one
 * part.
 */
export function toParts(content: Content): Part[] {
  if (typeof content === "string") return [text(content)];
  if (!isList(content)) return [content];
  if (content.length === 0) throw new TypeError("content needs one part or more");
  return content.map((each) => (typeof each === "string" ? text(each) : each));
}

function isList<T>(content: Part | readonly T[]): content is readonly T[] {
  return Array.isArray(content);
}

function part(content: Part["content"], options: PartOptions | undefined): Part {
  if (options !== undefined) checkPartOptions(options);
  const value: Part = {
    $typeName: typeNames.Part,
    content,
    filename: options?.filename ?? "",
    mediaType: options?.mediaType ?? "",
  };
  if (options?.metadata !== undefined) value.metadata = options.metadata;
  return value;
}
