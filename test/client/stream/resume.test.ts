import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resumeExtension } from "../../../src/protocol/extensions.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { cutAfter } from "../../support/fault-schedule.js";
import { itemsOf } from "../../support/items.js";
import { lineOf } from "../../support/say.js";
import { allBindings, ended, type FaultyServer, faultyServer, sixLines } from "./faults-server.js";

// A caller that resumes with the id of the last event it saw.

let served: FaultyServer;
beforeAll(async () => {
  served = await faultyServer();
});
afterAll(() => served[Symbol.asyncDispose]());

function idOf({ response: { payload } }: StreamItem): string {
  if (payload.case === undefined || payload.case === "message") throw new Error("no task");
  return payload.case === "task" ? payload.value.id : payload.value.taskId;
}

describe.each(allBindings)("over %s", (binding) => {
  // Bindings without a place for event ids carry them in the events' metadata.
  const options = binding === "JSONRPC" || binding === "HTTP+JSON" ? {} : { extensions: [resumeExtension] };

  async function finished(): Promise<StreamItem[]> {
    await using way = await served.way(binding, [], options);
    return await itemsOf(way.client.stream("go"));
  }

  it("a reader that asks for all events at once gets them in their order, also over a break", async () => {
    const [first] = await finished();
    if (first === undefined) throw new Error("no event");
    for (const after of [200, 400, 600, 100_000]) {
      await using way = await served.way(binding, [cutAfter("response", after, "reset"), { kind: "pass" }], options);
      const stream = way.client.subscribeToTask({ id: idOf(first) }, { after: first.id });
      const items = stream[Symbol.asyncIterator]();
      const lines: string[] = [];
      const steps = [...sixLines, "and one more"].map(async () => {
        const step = await items.next();
        lines.push(step.done === true ? "end" : lineOf(step.value));
      });
      await Promise.all(steps);
      expect(lines).toEqual([...sixLines.slice(1), "end", "end"]);
    }
  });

  it("a stream that resumes gets everything after the event, from every position", async () => {
    const items = await finished();
    expect(items.map(lineOf)).toEqual(sixLines);
    await using way = await served.way(binding, [], options);
    for (const [place, item] of items.entries()) {
      expect(item.id).toEqual(expect.any(String));
      const stream = way.client.subscribeToTask({ id: idOf(item) }, { after: item.id });
      expect(await ended(stream)).toEqual({ lines: sixLines.slice(place + 1), error: undefined });
    }
  });

  it("a stream that resumes gets everything also when its connection breaks on the way, wherever that is", async () => {
    const [first] = await finished();
    if (first === undefined) throw new Error("no event");
    for (let after = 0; after < 1200; after += 100) {
      await using way = await served.way(binding, [cutAfter("response", after, "reset"), { kind: "pass" }], options);
      const stream = way.client.subscribeToTask({ id: idOf(first) }, { after: first.id });
      expect(await ended(stream)).toEqual({ lines: sixLines.slice(1), error: undefined });
    }
  });

  it("a stream that resumes shows no id in the metadata of an event", async () => {
    for (const { response } of await finished()) {
      const { value } = response.payload;
      expect(value !== undefined && "metadata" in value ? value.metadata : undefined).toBeUndefined();
    }
  });
});
