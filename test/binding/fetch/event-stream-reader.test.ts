import { describe, expect, it } from "vitest";
import { readEventStream } from "../../../src/binding/fetch/event-stream-reader.js";
import { ConnectionError } from "../../../src/protocol/errors.js";

async function dataOf(text: string): Promise<readonly string[]> {
  const body = new Response(text).body;
  if (body === null) throw new Error("no body");
  const read: string[] = [];
  for await (const events of readEventStream(body, 1_000, (cause) => cause))
    read.push(...events.map(({ data }) => data));
  return read;
}

describe("a stream of events that ends", () => {
  const whole = 'data: {"a":1}\n\ndata: {"b":2}\n\n';

  it("a stream of events may leave out the blank line of its last event", async () => {
    expect(await dataOf(whole.slice(0, -2))).toEqual(['{"a":1}', '{"b":2}']);
  });

  it("a stream that ends inside an event has broken off, however clean the end looks", async () => {
    for (let end = whole.lastIndexOf("{") + 1; end < whole.lastIndexOf("}"); end++) {
      await expect(dataOf(whole.slice(0, end))).rejects.toBeInstanceOf(ConnectionError);
    }
  });
});
