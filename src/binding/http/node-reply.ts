import { leaveStream } from "../../protocol/async/steps.js";
import { keepsBodyBack } from "../listen/continue.js";
import type { HttpReply } from "./http.js";
import { contentLength, hasBody, type NodeIncoming } from "./node-body.js";
import { isGone, type NodeResponse } from "./node-request.js";
import { http2Body, type Pieces, PieceWriter } from "./piece-writer.js";
import { watchStall } from "./reply-stall.js";

/** How long and how many bytes of a refused upload are still read, so that its sender sees the reply. */
const lingerMs = 2_000;
const lingerMaxBytes = 64 * 1024 * 1024;
/** An unread body up to this declared size is drained, and the connection is kept. */
const drainMaxBytes = 64 * 1024;

/** Writes a reply. Throws before writing anything if a header is invalid. */
export function writeReply(req: NodeIncoming, res: NodeResponse, reply: HttpReply, stallMs: number): void {
  const { body } = reply;
  const headers = headerPairs(reply);
  if (isPieces(body)) {
    const iterator = body[Symbol.asyncIterator]();
    if (isGone(res)) {
      leaveStream(iterator);
      return;
    }
    writeHead(res, reply.status, headers);
    flushHead(res);
    new PieceWriter(res, iterator, stallMs).start();
    return;
  }
  if (isGone(res) || res.writableEnded) return;
  if (reply.status !== 204 && reply.status !== 304) {
    headers.push("Content-Length", body === undefined ? "0" : String(Buffer.byteLength(body)));
  }
  if (!req.complete && hasBody(req)) {
    writeDuringUpload(req, res, { status: reply.status, headers, body: body ?? "" });
    return;
  }
  writeHead(res, reply.status, headers);
  end(res, body ?? "");
  watchStall(res, stallMs);
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
}

/**
 * Replies while the request is still uploading. Closing at once would reset the connection, and the peer could lose the
 * reply. So the upload is read for a while and discarded.
 */
function writeDuringUpload(req: NodeIncoming, res: NodeResponse, { status, headers, body }: WholeReply): void {
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
  if (length !== undefined && length <= drainMaxBytes && !keepsBodyBack(req)) {
    res.writeHead(status, headers);
    res.end(body);
    req.resume();
    return;
  }
  res.writeHead(status, [...headers, "Connection", "close"]);
  if (body.length > 0) res.write(body);
  else res.flushHeaders();
  discardBody(req, () => res.end());
}

function discardBody(req: NodeIncoming, onEnd: () => void): void {
  let remaining = lingerMaxBytes;
  const stop = (): void => {
    clearTimeout(timer);
    req.off("data", onData).off("end", stop).off("close", stop);
    onEnd();
  };
  const onData = (chunk: Uint8Array): void => {
    remaining -= chunk.length;
    if (remaining < 0) stop();
  };
  const timer = setTimeout(stop, lingerMs);
  req.on("data", onData).on("end", stop).on("close", stop).resume();
}
