import { noop } from "../../protocol/async/noop.js";
import type { HttpReply } from "./http.js";
import { contentLength, hasBody, type NodeIncoming } from "./node-body.js";
import { isGone, type NodeResponse } from "./node-request.js";
import { type Pieces, PieceWriter } from "./piece-writer.js";

/** A refused upload is read on for this long and this far, so that its sender sees the answer. */
const lingerMs = 2_000;
const lingerMaxBytes = 64 * 1024 * 1024;
/** What is left of a body up to this size is taken off the connection, which is kept. */
const leftMaxBytes = 64 * 1024;

/** Writes a reply. Throws before anything was written when a header cannot be. */
export function writeReply(req: NodeIncoming, res: NodeResponse, reply: HttpReply): void {
  const { body } = reply;
  const headers = headerPairs(reply);
  if (isPieces(body)) {
    writePieces(res, reply.status, headers, body);
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
}

function isPieces(body: HttpReply["body"]): body is Pieces {
  return typeof body === "object" && Symbol.asyncIterator in body;
}

/** Flat pairs, which Node takes as they are. */
function headerPairs(reply: HttpReply): string[] {
  const pairs: string[] = [];
  for (const name in reply.headers) pairs.push(name, reply.headers[name] ?? "");
  return pairs;
}

// One call for each kind of response: their overloads do not unite.

function writeHead(res: NodeResponse, status: number, headers: string[]): void {
  if ("stream" in res) res.writeHead(status, headers);
  else res.writeHead(status, headers);
}

function end(res: NodeResponse, body: string | Uint8Array): void {
  if ("stream" in res) res.end(body);
  else res.end(body);
}

interface WholeReply {
  readonly status: number;
  readonly headers: string[];
  readonly body: string | Uint8Array;
}

/**
 * Answers while the request is still being sent. Closing at once would reset the connection, and the peer might lose the
 * answer with it; so the upload is read for a while and thrown away.
 */
function writeDuringUpload(req: NodeIncoming, res: NodeResponse, { status, headers, body }: WholeReply): void {
  if ("stream" in res) {
    // NO_ERROR tells an HTTP/2 peer that the answer stands and the rest is not wanted (RFC 9113, 8.1). It is the stream
    // that says when the answer is out: the response waits for the peer as well.
    const { stream } = res;
    stream.once("finish", () => stream.close(0));
    res.writeHead(status, headers);
    res.end(body);
    return;
  }
  const length = contentLength(req);
  if (length !== undefined && length <= leftMaxBytes) {
    res.writeHead(status, headers);
    res.end(body);
    req.resume();
    return;
  }
  res.writeHead(status, [...headers, "Connection", "close"]);
  if (body.length > 0) res.write(body);
  else res.flushHeaders();
  throwAway(req, () => res.end());
}

function throwAway(req: NodeIncoming, done: () => void): void {
  let left = lingerMaxBytes;
  const stop = (): void => {
    clearTimeout(timer);
    req.off("data", onData).off("end", stop).off("close", stop);
    done();
  };
  const onData = (chunk: Uint8Array): void => {
    left -= chunk.length;
    if (left < 0) stop();
  };
  const timer = setTimeout(stop, lingerMs);
  req.on("data", onData).on("end", stop).on("close", stop).resume();
}

function writePieces(res: NodeResponse, status: number, headers: string[], pieces: Pieces): void {
  const iterator = pieces[Symbol.asyncIterator]();
  if (isGone(res)) {
    iterator.return?.().then(undefined, noop);
    return;
  }
  writeHead(res, status, headers);
  new PieceWriter(res, iterator).start();
}
