import type { ServerResponse } from "node:http";
import { type Clock, callerClock, timerMs } from "../../protocol/async/clock.js";
import { leaveStream } from "../../protocol/async/steps.js";
import type { CallTimes } from "../listen/connection.js";
import { awaitsContinue } from "../listen/continue.js";
import type { HttpReply } from "./http.js";
import { isPeerGone, type NodeResponse } from "./node-request.js";
import { contentLength, isUploading, type NodeIncoming } from "./request-body.js";

// Node's end of replies: pushes what `reply-writer.ts` makes into a response of HTTP/1.1 or HTTP/2. A whole reply is
// one write. Pieces are pulled one by one while the socket takes them (`PieceWriter`); a full socket pauses that until
// it drains. A peer that takes nothing for `replyStallMs` loses its connection, and one that is still uploading gets a
// while to read the reply before the connection closes.

/** How long and how many bytes of a refused upload are still read, so that its sender sees the reply. */
const lingerMs = 2_000;
const lingerMaxBytes = 64 * 1024 * 1024;
/** An unread body up to this declared size is drained, and the connection is kept. */
const drainMaxBytes = 64 * 1024;

/** Writes a reply. Throws before writing anything if a header is invalid. */
export function writeReply(req: NodeIncoming, res: NodeResponse, reply: HttpReply, times: CallTimes): void {
  const { body } = reply;
  const { replyStallMs, clock = callerClock } = times;
  const headers = headerPairs(reply);
  if (isPieces(body)) {
    const iterator = body[Symbol.asyncIterator]();
    if (isPeerGone(res)) {
      leaveStream(iterator);
      return;
    }
    writeHead(res, reply.status, headers);
    flushHead(res);
    new PieceWriter(res, iterator, replyStallMs).start();
    return;
  }
  if (isPeerGone(res) || res.writableEnded) return;
  if (reply.status !== 204 && reply.status !== 304) {
    headers.push("Content-Length", body === undefined ? "0" : String(Buffer.byteLength(body)));
  }
  if (isUploading(req)) {
    writeDuringUpload(req, res, { status: reply.status, headers, body: body ?? "", clock });
    return;
  }
  writeHead(res, reply.status, headers);
  end(res, body ?? "");
  watchStall(res, replyStallMs);
}

function isPieces(body: HttpReply["body"]): body is Pieces {
  return typeof body === "object" && Symbol.asyncIterator in body;
}

/** Flat name-value pairs, which Node takes without conversion. */
function headerPairs(reply: HttpReply): string[] {
  const pairs: string[] = [];
  for (const name in reply.headers) pairs.push(name, reply.headers[name] ?? "");
  return pairs;
}

// One call for each response type: TypeScript cannot unify their overloads.

function writeHead(res: NodeResponse, status: number, headers: string[]): void {
  if ("stream" in res) res.writeHead(status, headers);
  else res.writeHead(status, headers);
}

/**
 * Writes the header by itself, together with what follows in this turn. Node keeps what it wrote last in one piece, but a
 * header before a first piece of the body as 27: 0.8 KB for each open stream (Node 24.21).
 */
function flushHead(res: NodeResponse): void {
  if ("stream" in res) return;
  const { socket } = res;
  socket?.cork();
  res.flushHeaders();
  process.nextTick(() => socket?.uncork());
}

function end(res: NodeResponse, body: string | Uint8Array): void {
  if ("stream" in res) res.end(http2Body(body));
  else res.end(body);
}

interface WholeReply {
  readonly status: number;
  readonly headers: string[];
  readonly body: string | Uint8Array;
  readonly clock: Clock;
}

/**
 * Replies while the request is still uploading. Closing at once would reset the connection, and the peer could lose the
 * reply. So the upload is read for a while and discarded.
 */
function writeDuringUpload(req: NodeIncoming, res: NodeResponse, { status, headers, body, clock }: WholeReply): void {
  if ("stream" in res) {
    // NO_ERROR means to an HTTP/2 peer that the reply is valid and the rest of the upload is unwanted (RFC 9113, 8.1).
    // Wait for the stream's `finish`: the response's waits for the peer as well.
    const { stream } = res;
    stream.once("finish", () => stream.close(0));
    res.writeHead(status, headers);
    res.end(http2Body(body));
    return;
  }
  const length = contentLength(req);
  // A peer that has not been asked for its body may send it all the same, and Node closes the connection then.
  if (length !== undefined && length <= drainMaxBytes && !awaitsContinue(req)) {
    res.writeHead(status, headers);
    res.end(body);
    req.resume();
    return;
  }
  res.writeHead(status, [...headers, "Connection", "close"]);
  if (body.length > 0) res.write(body);
  else res.flushHeaders();
  discardBody(req, clock, () => res.end());
}

function discardBody(req: NodeIncoming, clock: Clock, onEnd: () => void): void {
  let remaining = lingerMaxBytes;
  const stop = (): void => {
    cancel();
    req.off("data", onData).off("end", stop).off("close", stop);
    onEnd();
  };
  const onData = (chunk: Uint8Array): void => {
    remaining -= chunk.length;
    if (remaining < 0) stop();
  };
  const cancel = clock.after(lingerMs, stop);
  req.on("data", onData).on("end", stop).on("close", stop).resume();
}

type Pieces = AsyncIterable<string | Uint8Array>;

/** Writes pieces as they come, with back pressure: a full socket pauses the reading of pieces. */
class PieceWriter {
  readonly #res: NodeResponse;
  readonly #iterator: AsyncIterator<string | Uint8Array>;
  readonly #stallMs: number;
  /** `full`: waiting for the socket to drain. `left`: the peer has disconnected. */
  #state: "open" | "full" | "left" = "open";
  #isWatched = false;

  constructor(res: NodeResponse, iterator: AsyncIterator<string | Uint8Array>, stallMs: number) {
    this.#res = res;
    this.#iterator = iterator;
    this.#stallMs = stallMs;
  }

  start(): void {
    this.#res.on("close", this.#onClose);
    this.#pull();
  }

  #pull(): void {
    this.#iterator.next().then(this.#onPiece, this.#onFailure);
  }

  readonly #onPiece = (piece: IteratorResult<string | Uint8Array>): void => {
    if (this.#state === "left") return;
    if (piece.done === true) {
      this.#res.end();
      watchStall(this.#res, this.#stallMs);
      return;
    }
    if (write(this.#res, piece.value)) {
      this.#pull();
      return;
    }
    this.#state = "full";
    this.#res.once("drain", () => this.#onDrain());
    if (!this.#isWatched) watchStall(this.#res, this.#stallMs);
    this.#isWatched = true;
  };

  #onDrain(): void {
    if (this.#state !== "full") return;
    this.#state = "open";
    this.#pull();
  }

  readonly #onFailure = (): void => {
    if (this.#state !== "left") this.#res.destroy();
  };

  readonly #onClose = (): void => {
    this.#state = "left";
    if (!this.#res.writableEnded) leaveStream(this.#iterator);
  };
}

function write(res: NodeResponse, piece: string | Uint8Array): boolean {
  // An empty chunk would end a chunked body.
  if (piece.length === 0) return true;
  return "stream" in res ? res.write(http2Body(piece)) : res.write(piece);
}

/** Node reserves three bytes for each character of a text until an HTTP/2 peer has taken it. */
function http2Body(body: string | Uint8Array): Uint8Array {
  return typeof body === "string" ? Buffer.from(body) : body;
}

/**
 * Closes the connection of an HTTP/1.1 response if its peer takes nothing for `stallMs` while bytes wait. Call it when
 * a write has left bytes waiting: a timer on every response would cost 5 % of a JSON-RPC call (Node 24.21). The
 * listener watches the streams of HTTP/2.
 */
function watchStall(res: NodeResponse, stallMs: number): void {
  if (!("stream" in res) && res.writableLength > 0) res.setTimeout(timerMs(stallMs), destroyStalled);
}

/** Node calls this when no byte has moved for a while. After the response it uses the idle timeout instead. */
function destroyStalled(this: ServerResponse): void {
  if (this.writableLength > 0) this.socket?.destroy();
}
