import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { A2AError } from "../../protocol/errors.js";
import { BodyWatch } from "../body-watch.js";
import type { CallTimes } from "../listen/connection.js";
import { askForBody } from "../listen/continue.js";
import { bodyCutOff, bodyTooLarge } from "./body-error.js";

export type NodeIncoming = IncomingMessage | Http2ServerRequest;

/** What a framework's body parser may have left on a request. */
export interface ParsedBody {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

export function parsedBodyOf(request: object): ParsedBody {
  return request;
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
  // A small body is there once Node has handed over the packet with the headers: then nothing has to listen for it.
  await undefined;
  // A destroyed stream emits no more events, not even `end`.
  if (req.destroyed) throw bodyCutOff();
  if (isWaiting(req)) return checkBody(req.read() ?? empty, options);
  askForBody(req);
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

function isWaiting(req: NodeIncoming): boolean {
  return req.complete && !("stream" in req) && req.readableFlowing === null;
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
  return bytesOf(rawBody ?? body);
}

function bytesOf(body: unknown): Uint8Array {
  if (body === undefined) return empty;
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

/** Whether the headers announce a body. */
export function hasBody(req: NodeIncoming): boolean {
  if (req.headers["transfer-encoding"] !== undefined) return true;
  const length = contentLength(req);
  if (length !== undefined) return length > 0;
  return "stream" in req && !req.stream.endAfterHeaders;
}
