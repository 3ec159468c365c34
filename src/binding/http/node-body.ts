import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { A2AError } from "../../protocol/errors.js";
import { bodyCutOff, bodyTimedOut, bodyTooLarge } from "./body-error.js";

export type NodeIncoming = IncomingMessage | Http2ServerRequest;

/** What a framework's body parser may have left on a request. */
export interface ParsedBody {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

export function parsedBodyOf(request: object): ParsedBody {
  return request;
}

export interface BodyLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

/** Reads a request body within its limits, or takes it from `parsed` if a body parser has read it. */
export function readNodeBody(req: NodeIncoming, parsed: ParsedBody, limits: BodyLimits): Promise<Uint8Array> {
  const length = contentLength(req);
  if (length !== undefined && length > limits.maxBytes) return Promise.reject(bodyTooLarge(limits.maxBytes));
  if (req.readableEnded || parsed.rawBody !== undefined) return bodyFromParser(req, parsed, limits.maxBytes);
  // A destroyed stream emits no more events, not even `end`.
  if (req.destroyed) return Promise.reject(bodyCutOff());
  if (isWaiting(req)) return waitingBody(req, limits.maxBytes);
  return new Promise((resolve, reject) => new BodyReader(req, limits, resolve, reject));
}

/** The declared length of a body. `undefined` if it is missing or invalid. */
export function contentLength(req: NodeIncoming): number | undefined {
  const value = req.headers["content-length"];
  if (value === undefined) return undefined;
  const length = Number(value);
  return Number.isSafeInteger(length) && length >= 0 ? length : undefined;
}

// A small body arrives in one packet with the headers; it is then read without waiting.
function isWaiting(req: NodeIncoming): boolean {
  return req.complete && !("stream" in req) && req.readableFlowing === null;
}

function waitingBody(req: NodeIncoming, maxBytes: number): Promise<Uint8Array> {
  const body: Buffer = req.read() ?? empty;
  return body.length > maxBytes ? Promise.reject(bodyTooLarge(maxBytes)) : Promise.resolve(body);
}

class BodyReader {
  readonly #req: NodeIncoming;
  readonly #limits: BodyLimits;
  readonly #resolve: (body: Uint8Array) => void;
  readonly #reject: (error: A2AError) => void;
  readonly #timer: ReturnType<typeof setTimeout>;
  #first: Buffer | undefined;
  #more: Buffer[] | undefined;
  #bytes = 0;

  constructor(
    req: NodeIncoming,
    limits: BodyLimits,
    resolve: (body: Uint8Array) => void,
    reject: (error: A2AError) => void,
  ) {
    this.#req = req;
    this.#limits = limits;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(this.#onTimeout, limits.timeoutMs);
    req.on("data", this.#onData).on("end", this.#onEnd).on("error", this.#onCut).on("close", this.#onCut);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#limits.maxBytes) {
      this.#fail(bodyTooLarge(this.#limits.maxBytes));
      return;
    }
    if (this.#first === undefined) this.#first = chunk;
    else if (this.#more === undefined) this.#more = [this.#first, chunk];
    else this.#more.push(chunk);
  };

  readonly #onEnd = (): void => {
    this.#stop();
    this.#resolve(this.#more === undefined ? (this.#first ?? empty) : Buffer.concat(this.#more, this.#bytes));
  };

  readonly #onCut = (): void => this.#fail(bodyCutOff());

  readonly #onTimeout = (): void => this.#fail(bodyTimedOut(this.#limits.timeoutMs));

  #fail(error: A2AError): void {
    this.#stop();
    this.#req.pause();
    this.#reject(error);
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#req.off("data", this.#onData).off("end", this.#onEnd).off("error", this.#onCut).off("close", this.#onCut);
  }
}

const empty = Buffer.alloc(0);

function bodyFromParser(req: NodeIncoming, parsed: ParsedBody, maxBytes: number): Promise<Uint8Array> {
  const { rawBody, body } = parsed;
  if (rawBody === undefined && body === undefined && hasBody(req)) {
    const message = "the request body was read before the agent saw it: mount the agent before the body parser";
    return Promise.reject(new Error(message));
  }
  const bytes = bytesOf(rawBody ?? body);
  return bytes.length > maxBytes ? Promise.reject(bodyTooLarge(maxBytes)) : Promise.resolve(bytes);
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
