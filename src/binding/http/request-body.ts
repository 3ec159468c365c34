import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { type Clock, callerClock } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import { isTooShort, JsonValueCounter } from "../../protocol/codec/value-count.js";
import { A2AError } from "../../protocol/errors.js";
import { concat } from "../concat.js";
import type { CallTimes } from "../listen/connection.js";
import { sendContinue } from "../listen/continue.js";
import type { ServerCall } from "../server-call.js";
import type { HttpRequest } from "./http.js";
import { readContentEncoding } from "./media-type.js";

// Reads the body of a request. A binding asks `HttpRequest.body()` for the bytes: `readJsonBody` does for the JSON
// bindings, `connect/body-checks.ts` looks into what Connect and gRPC-Web send. Behind it, `readNodeBody` reads from
// Node's HTTP/1.1 and HTTP/2 servers or takes what a framework's body parser has left, and `readFetchBody` reads from a
// Fetch-standard request. gRPC's messages are read by grpc-js; they share the limits and the watch.
//
// Every reader keeps to the same limits, and stops as soon as one is passed: the declared length is checked before
// anything is read, then the bytes as they arrive and as they are decompressed (`contentTooLarge`), the time and the
// rate (`BodyWatch`, `requestTimeout`), and whatever `onPiece` throws, which books and counts each piece.

const utf8 = new TextDecoder("utf-8", { fatal: true });

function decodeBody(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new A2AError("parseError", "the body is not valid UTF-8", { cause });
  }
}

/**
 * Reads a JSON body. Its bytes are booked, and its values counted, as they arrive or are decompressed; then `read` gets
 * its text.
 */
export async function readJsonBody<T>(request: HttpRequest, call: ServerCall, read: (text: string) => T): Promise<T> {
  const { jsonBodyMaxBytes, jsonMaxValues } = call.service.limits;
  const announcesGzip = readContentEncoding(request) === "gzip";
  const isSmall = !announcesGzip && isTooShort(Number(request.header("content-length")), jsonMaxValues);
  const values = isSmall ? undefined : new JsonValueCounter(jsonMaxValues);
  const count = (piece: Uint8Array): void => {
    call.receive(piece.length);
    values?.add(piece);
  };
  let bytes = await request.body(jsonBodyMaxBytes, announcesGzip ? ({ length }) => call.receive(length) : count);
  if (announcesGzip) {
    if (isGzip(bytes) || !request.isParsed) bytes = await gunzip(bytes, jsonBodyMaxBytes, count);
    else values?.add(bytes);
  }
  return call.decode(() => read(decodeBody(bytes)));
}

export type NodeIncoming = IncomingMessage | Http2ServerRequest;

/** The members in which a framework's parser may have left the body on its request. */
export interface ParsedBody {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

export interface BodyOptions {
  readonly maxBytes: number;
  readonly times: CallTimes;
  /** Called with each piece as it arrives. What it throws ends the reading. */
  readonly onPiece: (piece: Uint8Array) => void;
}

/** Reads a request body within its limits, or takes it from `parsedBody` if a body parser has read it. */
export async function readNodeBody(
  req: NodeIncoming,
  parsedBody: ParsedBody,
  options: BodyOptions,
): Promise<Uint8Array> {
  const { maxBytes } = options;
  const length = contentLength(req);
  if (length !== undefined && length > maxBytes) throw bodyTooLarge(maxBytes);
  if (req.readableEnded || parsedBody.rawBody !== undefined) return checkBody(bodyFromParser(req, parsedBody), options);
  // Node hands over the headers first. A small body came in the same packet, and is there one step later.
  await undefined;
  // A destroyed stream emits no more events, not even `end`.
  if (req.destroyed) throw bodyCutOff();
  if (hasArrived(req, length)) return checkBody(takeBody(req), options);
  sendContinue(req);
  const result = Promise.withResolvers<Uint8Array>();
  new BodyReader(req, options, result);
  return result.promise;
}

/** The declared length of a body. `undefined` if it is missing or invalid. */
export function contentLength(req: NodeIncoming): number | undefined {
  const value = req.headers["content-length"];
  if (value === undefined) return undefined;
  const length = Number(value);
  return Number.isSafeInteger(length) && length >= 0 ? length : undefined;
}

/** Set on a request of HTTP/1.1 whose whole body was taken, which Node may not have noticed yet. */
const isTaken = Symbol("isTaken");

type TakenRequest = NodeIncoming & { [isTaken]?: true };

/**
 * Whether all bytes of a body wait in an HTTP/1.1 request that nobody reads. They can be taken at once; listening for
 * them would cost a timer, four listeners and four ticks, which is a tenth of a call (Node 24.21).
 */
function hasArrived(req: NodeIncoming, length: number | undefined): boolean {
  if ("stream" in req || req.readableFlowing !== null) return false;
  return req.complete || req.readableLength === length;
}

function takeBody(req: NodeIncoming): Uint8Array {
  (req as TakenRequest)[isTaken] = true;
  return req.read() ?? empty;
}

/** Whether the peer still sends the body. */
export function isUploading(req: NodeIncoming): boolean {
  return !req.complete && (req as TakenRequest)[isTaken] !== true && hasBody(req);
}

/** Checks and books a body that is already in memory. */
function checkBody(body: Uint8Array, { maxBytes, onPiece }: BodyOptions): Uint8Array {
  if (body.length > maxBytes) throw bodyTooLarge(maxBytes);
  onPiece(body);
  return body;
}

class BodyReader {
  readonly #req: NodeIncoming;
  readonly #options: BodyOptions;
  readonly #result: PromiseWithResolvers<Uint8Array>;
  readonly #watch: BodyWatch;
  #first: Buffer | undefined;
  #more: Buffer[] | undefined;
  #bytes = 0;

  constructor(req: NodeIncoming, options: BodyOptions, result: PromiseWithResolvers<Uint8Array>) {
    this.#req = req;
    this.#options = options;
    this.#result = result;
    this.#watch = new BodyWatch(options.times, (error) => this.#fail(error));
    req.on("data", this.#onData).on("end", this.#onEnd).on("error", this.#onCut).on("close", this.#onCut);
  }

  readonly #onData = (chunk: Buffer): void => {
    const { maxBytes, onPiece } = this.#options;
    this.#bytes += chunk.length;
    this.#watch.add(chunk.length);
    try {
      if (this.#bytes > maxBytes) throw bodyTooLarge(maxBytes);
      onPiece(chunk);
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#first === undefined) this.#first = chunk;
    else if (this.#more === undefined) this.#more = [this.#first, chunk];
    else this.#more.push(chunk);
  };

  readonly #onEnd = (): void => {
    this.#stop();
    this.#result.resolve(this.#more === undefined ? (this.#first ?? empty) : Buffer.concat(this.#more, this.#bytes));
  };

  readonly #onCut = (): void => this.#fail(bodyCutOff());

  #fail(error: unknown): void {
    this.#stop();
    this.#req.pause();
    this.#result.reject(error);
  }

  #stop(): void {
    this.#watch.end();
    this.#req.off("data", this.#onData).off("end", this.#onEnd).off("error", this.#onCut).off("close", this.#onCut);
  }
}

const empty = Buffer.alloc(0);

const bodyIsGone =
  "the request body was read before the agent saw it, and nothing of it was kept: mount the agent before the body parser";

function bodyFromParser(req: NodeIncoming, { rawBody, body }: ParsedBody): Uint8Array {
  if (rawBody === undefined && body === undefined && hasBody(req)) {
    // The program's mistake. The message is safe to show: it contains nothing of other callers.
    throw new A2AError("internalError", bodyIsGone);
  }
  const parsed = rawBody ?? body;
  if (parsed === undefined) return empty;
  if (parsed instanceof Uint8Array) return parsed;
  return Buffer.from(typeof parsed === "string" ? parsed : JSON.stringify(parsed));
}

/** Whether the headers announce a body. */
function hasBody(req: NodeIncoming): boolean {
  if (req.headers["transfer-encoding"] !== undefined) return true;
  const length = contentLength(req);
  if (length !== undefined) return length > 0;
  return "stream" in req && !req.stream.endAfterHeaders;
}

/** Reads the body of a Fetch-standard request within its limits. */
export async function readFetchBody(request: Request, { maxBytes, times, onPiece }: BodyOptions): Promise<Uint8Array> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
  const reader = request.body?.getReader();
  if (reader === undefined) return new Uint8Array(0);
  let timeoutError: A2AError | undefined;
  const watch = new BodyWatch(times, (error) => {
    timeoutError = error;
    reader.cancel().catch(noop);
  });
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw bodyCutOff(cause);
      });
      if (done) break;
      bytes += value.length;
      if (bytes > maxBytes) throw bodyTooLarge(maxBytes);
      watch.add(value.length);
      onPiece(value);
      pieces.push(value);
    }
    if (timeoutError !== undefined) throw timeoutError;
    return concat(pieces, bytes);
  } catch (error) {
    reader.cancel().catch(noop);
    throw error;
  } finally {
    watch.end();
  }
}

/** Whether bytes begin with the mark of gzip. */
export function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/**
 * Decompresses a body and calls `onPiece` with each piece. If that throws, it stops and rejects, so that a body beyond
 * a limit is never in memory as a whole. Rejects with `contentTooLarge` beyond `maxBytes`, and with `parseError` if the
 * body is not gzip.
 */
export async function gunzip(
  bytes: Uint8Array,
  maxBytes: number,
  onPiece: (piece: Uint8Array) => void,
): Promise<Uint8Array> {
  const { createGunzip } = process.getBuiltinModule("node:zlib");
  const stream = createGunzip();
  const result = Promise.withResolvers<Uint8Array>();
  const pieces: Uint8Array[] = [];
  let length = 0;
  stream.on("data", (piece: Uint8Array) => {
    try {
      length += piece.length;
      if (length > maxBytes) throw bodyTooLarge(maxBytes);
      onPiece(piece);
      pieces.push(piece);
    } catch (error) {
      result.reject(error);
      stream.destroy();
    }
  });
  stream.on("end", () => result.resolve(concat(pieces, length)));
  stream.on("error", (cause) => result.reject(new A2AError("parseError", "the body is not gzip", { cause })));
  stream.end(bytes);
  return result.promise;
}

/** How often the rate is checked within the time limit. */
const checks = 3;

const minBytesPerSecond = 1024;

/** Watches the arrival of one request body: it must be complete in time, and arrive at a minimum rate until then. */
export class BodyWatch {
  readonly #times: CallTimes;
  readonly #fail: (error: A2AError) => void;
  readonly #clock: Clock;
  #cancel: () => void;
  #check = 1;
  #bytes = 0;

  /** Starts watching. Calls `fail` at most once, with a `requestTimeout` error. */
  constructor(times: CallTimes, fail: (error: A2AError) => void, clock = times.clock ?? callerClock) {
    this.#times = times;
    this.#fail = fail;
    this.#clock = clock;
    this.#cancel = this.#schedule();
  }

  /** Counts a piece of the body. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Stops watching, once the body is complete or given up. */
  end(): void {
    this.#cancel();
  }

  #schedule(): () => void {
    return this.#clock.after(this.#times.bodyTimeoutMs / checks, () => this.#checkProgress());
  }

  #checkProgress(): void {
    const { bodyTimeoutMs } = this.#times;
    const windowMs = bodyTimeoutMs / checks;
    if (this.#check === checks) {
      this.#fail(
        new A2AError("requestTimeout", `the request body did not arrive within ${bodyTimeoutMs} ms (bodyTimeoutMs)`),
      );
    } else if (this.#bytes * 1000 < minBytesPerSecond * windowMs) {
      this.#fail(
        new A2AError("requestTimeout", `the request body arrived more slowly than ${minBytesPerSecond} bytes a second`),
      );
    } else {
      this.#check += 1;
      this.#bytes = 0;
      this.#cancel = this.#schedule();
    }
  }
}

export function bodyTooLarge(maxBytes: number): A2AError {
  return new A2AError(
    "contentTooLarge",
    `the request body is over the limit of ${maxBytes} bytes (jsonBodyMaxBytes, or contentMaxBytes if it is binary)`,
    { metadata: { maxBytes: String(maxBytes) } },
  );
}

function bodyCutOff(cause?: unknown): A2AError {
  return new A2AError("invalidRequest", "the request body was cut off", { cause });
}

/** The error for a binary request message over `contentMaxBytes`. */
export function requestTooLarge(maxBytes: number): A2AError {
  return new A2AError("contentTooLarge", `the request is over the limit of ${maxBytes} bytes (contentMaxBytes)`, {
    metadata: { maxBytes: String(maxBytes) },
  });
}
