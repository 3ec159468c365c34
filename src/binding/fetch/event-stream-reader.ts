import { createParser, type EventSourceMessage } from "eventsource-parser";
import { noop } from "../../protocol/async/noop.js";
import { replyTooLarge } from "../../protocol/codec/reply-too-large.js";
import { ConnectionError } from "../../protocol/errors.js";
import type { AnswerBody } from "../../protocol/fetch.js";
import { assertValueLimit, minCheckedLength } from "./value-limit.js";

// Reads server-sent events. Accepts comments, unknown event names, any line ending and a last event without its blank
// line.

/**
 * Yields the events of a reply in batches as they arrive, and reads on only after the consumer takes a batch. Returning
 * early closes the connection. `failure` maps a read error to the error to throw.
 */
export async function* readEventStream(
  body: AnswerBody,
  maxBytes: number,
  failure: (cause: unknown) => unknown,
): AsyncGenerator<readonly EventSourceMessage[], void, undefined> {
  const parse = eventParser(maxBytes);
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw failure(cause);
      });
      const batch = parse(value);
      if (done && !batch.every(isWhole)) {
        throw new ConnectionError("the agent's stream broke off inside an event", { written: true });
      }
      const longEvents = batch.filter(({ data }) => data.length >= minCheckedLength);
      if (longEvents.length > 0)
        await assertValueLimit(
          longEvents.map(({ data }) => data),
          maxBytes,
        );
      if (batch.length > 0) yield batch;
      if (done) return;
    }
  } finally {
    reader.cancel().then(undefined, noop);
  }
}

/**
 * Whether an event has no payload: its data is empty, or `[DONE]`, with which servers of language models end streams.
 */
export function isEmptyEvent(data: string): boolean {
  return data.length <= maxFillerLength && /^\s*(?:\[DONE\]\s*)?$/.test(data);
}

const maxFillerLength = 64;

/** Bytes that a stream may send without completing an event; comments do not count. */
const fillers = 2 ** 20;

/** Returns the events that each piece completes; `undefined` ends the stream. Throws `contentTooLarge`. */
function eventParser(maxBytes: number): (piece: Uint8Array | undefined) => readonly EventSourceMessage[] {
  let events: EventSourceMessage[] = [];
  // Bytes since the last event, without comments: each line of data costs memory, even an empty one.
  let pendingBytes = 0;
  const tooLong = (): never => {
    throw replyTooLarge(`an event is over the limit of ${maxBytes} bytes (replyMaxBytes)`);
  };
  const parser = createParser({
    // Bounds an unfinished event; complete events are measured in `onEvent`.
    maxBufferSize: maxBytes,
    onEvent: (event) => {
      if (event.data.length > maxBytes) tooLong();
      pendingBytes = 0;
      events.push(event);
    },
    onComment: (text) => {
      pendingBytes -= text.length + 2;
    },
    onError: ({ type }) => {
      if (type === "max-buffer-size-exceeded") tooLong();
    },
  });
  const decoder = new TextDecoder();
  return (piece) => {
    pendingBytes += piece?.length ?? 0;
    parser.feed(piece === undefined ? `${decoder.decode()}\n\n` : decoder.decode(piece, { stream: true }));
    if (pendingBytes > Math.max(maxBytes, fillers)) tooLong();
    const batch = events;
    events = [];
    return batch;
  };
}

// The last event may lack its blank line but nothing else: half an event is invalid JSON.
function isWhole({ data }: EventSourceMessage): boolean {
  if (isEmptyEvent(data)) return true;
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}
