import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { Socket } from "node:net";
import type { HttpAnswer } from "./fault-schedule.js";

const html = (title: string): string => `<!doctype html><title>${title}</title><p>${title}\n`;
const htmlType = { "content-type": "text/html; charset=utf-8" };

/** Answers that a proxy in front of an agent, or another server in its place, may give. */
export const httpAnswers = {
  notFound: { status: 404 },
  methodNotAllowed: { status: 405, headers: { allow: "GET" } },
  unsupportedMediaType: { status: 415 },
  notImplemented: { status: 501 },
  tooManyRequests: { status: 429, headers: { "retry-after": "7" } },
  unavailable: { status: 503 },
  errorPage: { status: 500, headers: htmlType, body: html("Internal error") },
  page: { status: 200, headers: htmlType, body: html("Welcome") },
} as const satisfies Record<string, HttpAnswer>;

/** Random bytes; the same for the same seed. */
export function garbage(length: number, seed = 1): Uint8Array {
  let state = seed;
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 24;
  });
}

/** What an HTTP/1.1 server answers a caller that speaks HTTP/2. */
export const http1Bytes: Uint8Array = Buffer.from(
  "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
  "latin1",
);

/** What an HTTP/2 server answers a caller that speaks HTTP/1.1: its settings, then GOAWAY with PROTOCOL_ERROR. */
export const http2Bytes: Uint8Array = Buffer.from("000000040000000000" + "0000080700000000000000000000000001", "hex");

/**
 * Gives every request of a connection the same answer, over the HTTP version that the caller speaks. Calls `began` once
 * the first answer is written.
 */
export function answerHttp(caller: Socket, answer: HttpAnswer, began: () => void): void {
  caller.once("readable", () => {
    const firstChunk: Buffer | null = caller.read();
    if (firstChunk === null) return;
    caller.unshift(firstChunk);
    began();
    const listener = (request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse) =>
      request.on("end", () => respond(response, answer)).resume();
    const server = firstChunk.toString("latin1", 0, 3) === "PRI" ? createHttp2Server(listener) : createServer(listener);
    server.emit("connection", caller);
  });
}

function respond(
  response: ServerResponse | Http2ServerResponse,
  { status, headers = {}, body = "" }: HttpAnswer,
): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end(body);
}
