import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { amount, assertOptions, jsonObject, type MembersOf, object, string } from "../../protocol/check/rules.js";
import { isObject } from "../../protocol/kinds.js";
import type { Part } from "../../protocol/model.js";
import { file, type PartOptions } from "../../protocol/parts.js";
import { findMediaType } from "./media-type.js";

/** Options of `fileFrom`. */
export interface FileFromOptions extends PartOptions {
  /** Largest size in bytes. Default: 4 MiB, the default limit of one message or event. */
  readonly maxBytes?: number | undefined;
}

const rule = object({
  mediaType: { rule: string },
  filename: { rule: string },
  metadata: { rule: jsonObject },
  maxBytes: { rule: amount },
} satisfies MembersOf<FileFromOptions>);

const defaultMaxBytes = 4 << 20;

/** A stream of bytes: a Node stream, a web stream or any other iterable. Strings are encoded as UTF-8. */
export type ByteStream = AsyncIterable<Uint8Array | string>;

/**
 * Reads a file, or a stream to its end, into a part. A file keeps its name. The media type follows from common file
 * extensions, such as `.csv`, `.pdf` or `.png`; otherwise set `mediaType`. Rejects with a `RangeError` for more than
 * `maxBytes` bytes, for a file before it is read, and with errors of `node:fs` or the stream.
 *
 * @example
 * ```ts
 * const report = await fileFrom("reports/tides.pdf", { maxBytes: 10 << 20 });
 * const answer = await client.send(["Summarize this report", report]);
 * ```
 */
export async function fileFrom(source: string | URL | ByteStream, options: FileFromOptions = {}): Promise<Part> {
  assertOptions("fileFrom()", options, rule);
  const { maxBytes = defaultMaxBytes, ...partOptions } = options;
  if (isStream(source)) {
    const bytes = await collect(source, { what: partOptions.filename ?? "the stream", maxBytes });
    return file(bytes, withMediaType(partOptions));
  }
  const path = readPath(source);
  const what = basename(path);
  const { size } = await stat(path);
  if (size > maxBytes) throw tooLarge({ what, maxBytes }, size);
  const bytes = await collect(createReadStream(path), { what, maxBytes });
  return file(bytes, withMediaType({ ...partOptions, filename: partOptions.filename ?? what }));
}

function withMediaType(options: PartOptions): PartOptions {
  const { filename = "", mediaType = findMediaType(filename) } = options;
  return { ...options, mediaType };
}

interface SizeLimit {
  readonly what: string;
  readonly maxBytes: number;
}

// Leaving the loop closes the stream.
async function collect(stream: ByteStream, { what, maxBytes }: SizeLimit): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const piece = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    if (!(piece instanceof Uint8Array)) {
      throw new TypeError(`fileFrom(): ${what} must give bytes or strings, not values of type ${typeof piece}`);
    }
    size += piece.length;
    if (size > maxBytes) throw tooLarge({ what, maxBytes }, size, "at least ");
    pieces.push(piece);
  }
  return Buffer.concat(pieces, size);
}

function tooLarge({ what, maxBytes }: SizeLimit, size: number, least = ""): RangeError {
  const [limit, over] = [maxBytes, size - maxBytes].map((count) => count.toLocaleString("en"));
  return new RangeError(
    `fileFrom(): ${what} is ${least}${over} bytes over the limit of ${limit}: raise maxBytes ` +
      "(and eventMaxBytes or contentMaxBytes of the agent), or send a URL with file()",
  );
}

function isStream(source: unknown): source is ByteStream {
  return isObject(source) && Symbol.asyncIterator in source;
}

function readPath(source: unknown): string {
  if (typeof source === "string") return source;
  if (source instanceof URL && source.protocol === "file:") return fileURLToPath(source);
  const actual = source instanceof URL ? source.href : `a value of type ${typeof source}`;
  throw new TypeError(
    `fileFrom() takes a path, a file: URL or a stream of bytes, not ${actual}: ` +
      "use file() for bytes and other URLs, and fileOf() for a Blob",
  );
}
