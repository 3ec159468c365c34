import { expect, it } from "vitest";
import { readEventStream } from "../../../src/binding/fetch/event-stream-reader.js";

// Lines without content cost memory too, so an event is measured by the bytes that it takes.

const limit = 2 ** 21;

/** A body that repeats a text without end, and how much of it was read. */
function endless(text: string) {
  const piece = new TextEncoder().encode(text.repeat(Math.ceil(16_384 / text.length)));
  let bytes = 0;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      pull(controller) {
        bytes += piece.length;
        controller.enqueue(piece);
      },
    },
    { highWaterMark: 0 },
  );
  return { body, read: () => bytes };
}

it.each([
  ["of empty lines", "data:\n"],
  ["of empty lines between comments", "data:\n: ping\n"],
  ["of ids", "id: 1\n"],
])("an event %s at the limit of its bytes ends a stream", async (_, text) => {
  const { body, read } = endless(text);
  const events = readEventStream(body, limit, (cause) => cause);
  await expect(events.next()).rejects.toMatchObject({ code: "contentTooLarge" });
  expect(read()).toBeLessThan(3 * limit);
});

it.each([
  ["comments", ": ping\n\n"],
  ["events", "data: {}\n\n"],
])("the limit of one event lets through three times as much of %s", async (_, text) => {
  const times = 3;
  const { body, read } = endless(text);
  const enough = body.pipeThrough(
    new TransformStream({
      transform(piece, controller) {
        if (read() > times * limit) controller.terminate();
        else controller.enqueue(piece);
      },
    }),
  );
  for await (const _events of readEventStream(enough, limit, (cause) => cause));
  expect(read()).toBeGreaterThan(times * limit);
});
