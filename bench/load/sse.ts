import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { HttpCall } from "../wire.ts";
import { open } from "./http.ts";

export interface SseEvent {
  readonly id: string | undefined;
  readonly data: string;
}

/** The server answered with something else than an event stream. */
export class StreamRefused extends Error {}

export interface SseRequest {
  readonly port: number;
  readonly call: HttpCall;
  readonly n: number;
  readonly lastEventId?: string | undefined;
}

/** Opens an event stream; the socket is read only as fast as the events are taken. */
export async function openSse({ port, call, n, lastEventId }: SseRequest): Promise<IncomingMessage> {
  const more = { accept: "text/event-stream", ...(lastEventId ? { "last-event-id": lastEventId } : {}) };
  const response = await open(port, call, n, more);
  const type = response.headers["content-type"] ?? "";
  if (response.statusCode !== 200 || !type.startsWith("text/event-stream")) {
    throw new StreamRefused(
      `HTTP ${response.statusCode} ${type} instead of an event stream: ${await bodyOf(response)}`,
    );
  }
  return response.setEncoding("utf8");
}

/** The events of a stream. With `pauseMs` the reader sleeps that long after each piece that it read. */
export async function* eventsOf(response: IncomingMessage, pauseMs = 0): AsyncGenerator<SseEvent, void, undefined> {
  let incompleteLine = "";
  for await (const piece of response) {
    incompleteLine += piece;
    for (let end = incompleteLine.indexOf("\n\n"); end >= 0; end = incompleteLine.indexOf("\n\n")) {
      const event = parseEvent(incompleteLine.slice(0, end));
      incompleteLine = incompleteLine.slice(end + 2);
      if (event) yield event;
    }
    if (pauseMs > 0) await delay(pauseMs);
  }
  if (incompleteLine.trim() !== "") throw new Error(`a stream ended inside an event: ${incompleteLine.slice(0, 80)}`);
}

function parseEvent(block: string): SseEvent | undefined {
  let id: string | undefined;
  let data: string | undefined;
  for (const line of block.split("\n")) {
    if (line.startsWith("data:")) data = line.slice(5).trimStart();
    else if (line.startsWith("id:")) id = line.slice(3).trim();
    else if (line.startsWith("event: error")) throw new Error(`the stream failed: ${block}`);
  }
  return data === undefined ? undefined : { id, data };
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  let body = "";
  for await (const piece of response) body += piece;
  return body.slice(0, 200);
}
