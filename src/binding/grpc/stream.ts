import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { PeerCertificate, ReadHeader } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import { parseTimeout, unlimitedMs } from "../deadline.js";
import { requestTooLarge } from "../http/request-body.js";
import { joinLines, listHeaderValues } from "../one-credential.js";
import { findCertificate } from "../peer-certificate.js";
import type { SentMetadata } from "./errors.js";

// A gRPC call on an HTTP/2 stream: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
//
//   request   HEADERS   DATA … (a message: one byte of flags, four of length, its bytes)   END_STREAM
//   answer    HEADERS   DATA …                                                             HEADERS with the status
//   or        HEADERS with the status, where a call fails before its first message
//
// The incoming side waits for `read`. From then on it passes on one message after the other, except while its receiver
// has paused it or a message is decompressed, and at last that the caller has sent all.
//
// The outgoing side is `quiet`, `open` once its headers are sent, and `over` once its status is sent or the stream has
// closed. A status may be sent while the request still comes: then the stream is closed, and the rest is not received.
//
// Invariant: after `over` nothing is sent, and the receiver hears nothing.

/** Receives the incoming side of a call. */
export interface GrpcReceiver {
  /** So many bytes have arrived, of one or more messages. */
  onBytes(count: number): void;
  onMessage(message: Buffer): void;
  /** The caller has sent its last message. */
  onHalfClose(): void;
  /** What the caller sends is too much or is not gRPC, or its deadline has passed. The call fails with this error. */
  onFault(error: A2AError): void;
  /** The caller has left before the status was sent. */
  onLeave(): void;
}

/** A stream and its headers, as Node hands them over. */
export interface OpenedStream {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
}

/** The flags and the length before a message. */
export const prefixBytes = 5;
/** Bytes that wait for the socket above which a call is full. */
export const highWaterBytes = 32 * 1024;

export class GrpcStream {
  /** The name and the port that the call was sent to. */
  readonly authority: string;
  /** When the caller stops waiting, in milliseconds since 1970. */
  readonly deadline: number | undefined;
  readonly #stream: ServerHttp2Stream;
  readonly #receiver: GrpcReceiver;
  readonly #encoding: string;
  #timer: NodeJS.Timeout | undefined;
  #maxBytes = 0;
  /** What has arrived and is not passed on. */
  #pieces: Buffer[] = [];
  #bytes = 0;
  #isPaused = false;
  #isUnzipping = false;
  /** `closed`: the caller has sent all; `ended`: the receiver knows. */
  #request: "open" | "closed" | "ended" = "open";
  #state: "quiet" | "open" | "over" = "quiet";
  #unsentBytes = 0;
  #onDrain: (() => void) | undefined;

  constructor({ stream, headers }: OpenedStream, receiver: GrpcReceiver) {
    this.#stream = stream;
    this.#receiver = receiver;
    this.authority = headers[":authority"] ?? headers.host ?? "";
    this.#encoding = readValue(headers["grpc-encoding"]) ?? "identity";
    this.deadline = this.#startTimer(readValue(headers["grpc-timeout"]));
    stream.on("error", ignoreError);
    stream.on("close", this.#onClose);
  }

  /** The network address of the caller. */
  get peer(): string | undefined {
    return this.#stream.session?.socket.remoteAddress;
  }

  /** The certificate that the caller has shown over TLS, which has verified it. */
  get certificate(): PeerCertificate | undefined {
    const socket = this.#stream.session?.socket;
    return socket && findCertificate(socket);
  }

  /** Starts receiving. A message over `maxBytes` is refused as soon as its length is known. */
  read(maxBytes: number): void {
    this.#maxBytes = maxBytes;
    this.#stream.on("data", this.#onData);
    this.#stream.on("end", this.#onEnd);
  }

  /** Passes on no more messages until `resume`. */
  pause(): void {
    this.#isPaused = true;
    this.#stream.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#passOn();
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  get isOver(): boolean {
    return this.#state === "over";
  }

  /** Sends the headers. */
  open(metadata: SentMetadata): void {
    if (!this.#canSend()) return;
    this.#state = "open";
    const headers = {
      ":status": 200,
      "content-type": contentType,
      "grpc-accept-encoding": acceptedEncodings,
      ...metadata,
    };
    this.#stream.respond(headers, trailersFollow);
  }

  /** Sends a message after the headers, and calls back when the socket has taken it. */
  send(frame: Buffer, onTaken?: () => void): void {
    if (!this.#canSend()) return;
    this.#unsentBytes += frame.length;
    this.#stream.write(frame, () => {
      this.#unsentBytes -= frame.length;
      onTaken?.();
      if (this.#unsentBytes <= highWaterBytes) this.#onDrain?.();
    });
  }

  /** Resolves when the socket takes more messages, or when the call is over. `undefined`: it takes more now. */
  drained(): Promise<void> | undefined {
    if (this.#unsentBytes <= highWaterBytes || this.isOver) return undefined;
    return new Promise((resolve) => {
      this.#onDrain = resolve;
    });
  }

  /** Sends the last message, and ends the call with its status. */
  sendLast(frame: Buffer, status: SentMetadata): void {
    const canSend = this.#canSend();
    this.#finish();
    if (!canSend) return;
    this.#sendTrailers(status);
    this.#stream.end(frame);
  }

  /** Ends the call. A status that is all of the answer may have an HTTP status other than 200. */
  end(status: SentMetadata, httpStatus = 200): void {
    const { isOpen } = this;
    const canSend = this.#canSend();
    this.#finish();
    if (!canSend) return;
    if (isOpen) {
      this.#sendTrailers(status);
      this.#stream.end();
      return;
    }
    this.#stream.respond({ ":status": httpStatus, "content-type": contentType, ...status }, { endStream: true });
    this.#dropRequest();
  }

  #sendTrailers(status: SentMetadata): void {
    this.#stream.on("wantTrailers", () => {
      this.#stream.sendTrailers(status);
      // Node sends them in an immediate.
      if (this.#request === "open") setImmediate(() => this.#dropRequest());
    });
  }

  /** Ends a request that the caller has not ended (RFC 9113, 8.1): its stream would stay open with what has arrived. */
  #dropRequest(): void {
    if (this.#request === "open") this.#stream.close(constants.NGHTTP2_NO_ERROR);
  }

  #canSend(): boolean {
    return !this.isOver && !this.#stream.closed && !this.#stream.destroyed;
  }

  #finish(): void {
    this.#state = "over";
    this.#pieces = [];
    clearTimeout(this.#timer);
    this.#onDrain?.();
  }

  #startTimer(timeout: string | undefined): number | undefined {
    if (timeout === undefined) return undefined;
    const timeoutMs = parseTimeout(timeout);
    if (timeoutMs === undefined) {
      process.nextTick(() => this.#fail(new A2AError("invalidRequest", `the grpc-timeout ${timeout} is invalid`)));
      return undefined;
    }
    if (timeoutMs >= unlimitedMs) return undefined;
    this.#timer = setTimeout(() => this.#fail(deadlinePassed()), timeoutMs);
    return Date.now() + timeoutMs;
  }

  #fail(error: A2AError): void {
    if (!this.isOver) this.#receiver.onFault(error);
  }

  readonly #onData = (piece: Buffer): void => {
    if (this.isOver) return;
    this.#receiver.onBytes(piece.length);
    if (this.isOver) return;
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    this.#passOn();
  };

  #passOn(): void {
    while (this.#isReceiving && this.#passMessage());
    if (!this.#isReceiving) return;
    if (this.#request === "open") this.#stream.resume();
    if (this.#request !== "closed") return;
    this.#request = "ended";
    this.#receiver.onHalfClose();
  }

  get #isReceiving(): boolean {
    return !this.isOver && !this.#isPaused && !this.#isUnzipping;
  }

  /** Passes on the first message. Returns false if it is not whole. */
  #passMessage(): boolean {
    if (this.#bytes < prefixBytes) return false;
    const prefix = this.#joinPieces(prefixBytes);
    const end = prefixBytes + prefix.readUInt32BE(1);
    if (end - prefixBytes > this.#maxBytes) this.#fail(requestTooLarge(this.#maxBytes));
    if (this.#bytes < end || this.isOver) return false;
    const bytes = this.#joinPieces(end);
    this.#pieces = bytes.length === end ? [] : [bytes.subarray(end)];
    this.#bytes -= end;
    // A copy: parts of the message may live longer than the packet would.
    const message = Buffer.from(bytes.subarray(prefixBytes, end));
    if (prefix[0] === 1 && this.#encoding !== "identity") void this.#unzip(message);
    else this.#receiver.onMessage(message);
    return true;
  }

  /** The first pieces as one, if the first of them is shorter than this. */
  #joinPieces(length: number): Buffer {
    const [first] = this.#pieces;
    if (first !== undefined && first.length >= length) return first;
    const joined = Buffer.concat(this.#pieces, this.#bytes);
    this.#pieces = [joined];
    return joined;
  }

  async #unzip(message: Buffer): Promise<void> {
    this.#isUnzipping = true;
    this.#stream.pause();
    try {
      const plain = await unzip(message, this.#encoding, this.#maxBytes);
      this.#isUnzipping = false;
      if (!this.isOver) this.#receiver.onMessage(plain);
      this.#passOn();
    } catch (error) {
      this.#fail(error as A2AError);
    }
  }

  readonly #onEnd = (): void => {
    this.#request = "closed";
    this.#passOn();
  };

  readonly #onClose = (): void => {
    if (this.isOver) return;
    this.#finish();
    this.#receiver.onLeave();
  };
}

const contentType = "application/grpc+proto";
const acceptedEncodings = "identity,deflate,gzip";
/** Nobody reads the date of a call, and a header is 1 % of a unary one. */
const trailersFollow = { waitForTrailers: true, sendDate: false };

export function deadlinePassed(): A2AError {
  return new A2AError("deadlineExceeded", "the deadline of the call has passed");
}

/** An error of a stream needs a listener. The `close` that follows it is enough. */
function ignoreError(): void {}

/** Puts its prefix before a message. */
export function encodeFrame(message: Uint8Array, allocate = Buffer.allocUnsafe): Buffer {
  const frame = allocate(prefixBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, prefixBytes);
  return frame;
}

/** Decompresses a message. Rejects with `contentTooLarge` beyond `maxBytes`. */
function unzip(bytes: Buffer, encoding: string, maxBytes: number): Promise<Buffer> {
  const { gunzip, inflate } = process.getBuiltinModule("node:zlib");
  const result = Promise.withResolvers<Buffer>();
  const onResult = (error: Error | null, plain: Buffer): void => {
    if (error === null) result.resolve(plain);
    else if ("code" in error && error.code === "ERR_BUFFER_TOO_LARGE") result.reject(requestTooLarge(maxBytes));
    else result.reject(new A2AError("parseError", `the message is not ${encoding}`, { cause: error }));
  };
  const options = { maxOutputLength: maxBytes };
  if (encoding === "gzip") gunzip(bytes, options, onResult);
  else if (encoding === "deflate") inflate(bytes, options, onResult);
  else result.reject(new A2AError("methodNotFound", `unsupported encoding ${encoding} (accepted: gzip, deflate)`));
  return result.promise;
}

/** Returns a reader of the headers that keeps nothing else of the request. */
export function createHeaderReader({ headers, rawHeaders }: OpenedStream): ReadHeader {
  // Node keeps only the first of several credentials.
  const credentials = headers.authorization === undefined ? [] : listHeaderValues(rawHeaders, "authorization");
  return (name) => (name === "authorization" ? joinLines(name, credentials) : readValue(headers[name]));
}

function readValue(value: string | string[] | undefined): string | undefined {
  return typeof value === "object" ? value.join(", ") : value;
}
