import { createParser, type EventSourceMessage } from "eventsource-parser";
import { noop } from "../../protocol/async/noop.js";
import { A2AError, ConnectionError } from "../../protocol/errors.js";
import type { AnswerBody } from "../../protocol/fetch.js";
import { assertFewValues, leastLength } from "./few-values.js";

// Reads server-sent events. Accepts comments, unknown event names, any line ending and a last event without its blank
// line.

/**
 * Yields the events of a reply in batches as they arrive, and reads on only after the consumer takes a batch. Returning
 * early closes the connection. `failure` maps a read error to the error to throw.
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
    // Bounds an unfinished event; complete events are measured in `onEvent`.
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
      const long = ready.filter(({ data }) => data.length >= leastLength);
      if (long.length > 0)
        await assertFewValues(
          long.map(({ data }) => data),
          eventMaxLength,
        );
      if (ready.length > 0) yield ready;
      if (done) return;
    }
  } finally {
    reader.cancel().then(undefined, noop);
  }
}

// The last event may lack its blank line but nothing else: half an event is invalid JSON.
function isWhole({ data }: EventSourceMessage): boolean {
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}
