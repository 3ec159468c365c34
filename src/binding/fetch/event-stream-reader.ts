import { createParser, type EventSourceMessage } from "eventsource-parser";
import { noop } from "../../protocol/async/noop.js";
import { A2AError, ConnectionError } from "../../protocol/errors.js";
import type { AnswerBody } from "../../protocol/fetch.js";

// Server-sent events, the reading end. Comments, foreign event names, any line ends and a last event without its blank
// line are all taken.

/**
 * Reads the events of a reply, as many at a time as came together, and reads on only when those were taken. Leaving it
 * closes the connection. `failure` says what to throw when that breaks.
 */
export async function* readEventStream(
  body: AnswerBody,
  eventMaxLength: number,
  failure: (cause: unknown) => unknown,
): AsyncGenerator<readonly EventSourceMessage[], void, undefined> {
  let events: EventSourceMessage[] = [];
  const tooLong = (): never => {
    throw new A2AError("contentTooLarge", `an event is over the limit of ${eventMaxLength} characters`);
  };
  const parser = createParser({
    // Counts what waits for its end; an event that came whole is measured when it is there.
    maxBufferSize: eventMaxLength,
    onEvent: (event) => (event.data.length > eventMaxLength ? tooLong() : events.push(event)),
    onError: ({ type }) => {
      if (type === "max-buffer-size-exceeded") tooLong();
    },
  });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw failure(cause);
      });
      parser.feed(done ? `${decoder.decode()}\n\n` : decoder.decode(value, { stream: true }));
      const ready = events;
      events = [];
      if (done && !ready.every(isWhole)) {
        throw new ConnectionError("the agent's stream broke off inside an event", { written: true });
      }
      if (ready.length > 0) yield ready;
      if (done) return;
    }
  } finally {
    reader.cancel().then(undefined, noop);
  }
}

// The last event may lack its blank line, and nothing else: half of one is no JSON.
function isWhole({ data }: EventSourceMessage): boolean {
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}
