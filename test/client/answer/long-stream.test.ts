import { artifact, completed, working } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { applyEvent, emptyTask } from "../../../src/protocol/fold.js";
import { connectTo } from "../../../src/testing/index.js";
import { cut } from "../../support/fault-schedule.js";
import { itemsOf } from "../../support/items.js";
import { type FaultyServer, faultyServer } from "../stream/faults-server.js";
import { chunk, status } from "../stream/lasting-events.js";

describe("a stream that is resumed", () => {
  let faulty: FaultyServer;
  beforeAll(async () => {
    faulty = await faultyServer();
  });
  afterAll(() => faulty[Symbol.asyncDispose]());

  it.each(["JSONRPC", "HTTP+JSON", "GRPC", "CONNECT"] as const)(
    "gives each text once, and the whole answer: %s",
    async (binding) => {
      await using way = await faulty.way(binding, [cut("response", 900, "reset"), cut("response", 700, "end")]);
      const stream = way.client.stream("go");
      expect((await itemsOf(stream.text)).join("")).toBe("one two three");
      expect(await stream.answer).toMatchObject({
        state: "completed",
        text: "one two three",
        artifacts: [{ id: "x" }],
      });
      await using other = await faulty.way(binding, [cut("response", 900, "reset"), cut("response", 700, "end")]);
      expect((await other.client.stream("go").answer).text).toBe("one two three");
      expect(way.proxy.connections).toBeGreaterThan(1);
    },
  );
});

describe("a stream with more content than `replyMaxBytes`", () => {
  const limits = { replyMaxBytes: 20_000 };
  const refused = {
    code: "contentTooLarge",
    message: "the answer is too large to be put together: the limit `replyMaxBytes` is 20,000",
  };
  const long = async function* () {
    yield working();
    for (let place = 0; place < 100; place++) yield artifact("x".repeat(1_000), { artifactId: "a", append: place > 0 });
    yield completed();
  };

  it("gives all events and all text, and no answer", async () => {
    await using client = await connectTo(long, { client: { limits } });
    const stream = client.stream("go");
    const events = await itemsOf(stream);
    expect(events).toHaveLength(103);
    await expect(stream.answer).rejects.toMatchObject(refused);
    const texts = client.stream("go");
    expect((await itemsOf(texts.text)).join("")).toHaveLength(100_000);
    await expect(texts.answer).rejects.toMatchObject(refused);
  });

  it("is closed at the limit when only its answer is read", async () => {
    let isAborted = false;
    await using client = await connectTo(
      async function* ({ signal }) {
        yield* long();
        isAborted = signal.aborted;
      },
      { client: { limits } },
    );
    await expect(client.stream("go").answer).rejects.toMatchObject(refused);
    expect(isAborted).toBe(false);
    // What is replaced does not count.
    await using other = await connectTo(
      async function* () {
        for (let place = 0; place < 100; place++) yield artifact("x".repeat(1_000), { artifactId: "a" });
        yield completed("done");
      },
      { client: { limits } },
    );
    expect((await other.stream("go").answer).text).toHaveLength(1_000);
  });
});

describe("the fold of a stream", () => {
  /** Milliseconds of CPU time for so many events. */
  function costOf(count: number, event: (place: number) => ReturnType<typeof status>): number {
    const task = emptyTask("t", "c");
    const events = Array.from({ length: count }, (_, place) => event(place));
    const before = process.cpuUsage();
    for (const each of events) applyEvent(task, each);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  }

  it.each([
    ["statuses with messages", (place: number) => status("WORKING", `step ${place}`)],
    ["chunks of one artifact", (place: number) => chunk("x", place > 0)],
    ["artifacts", (place: number) => chunk("x", false, `a${place}`)],
  ])("costs the same for each event, however many came before: %s", (_, event) => {
    costOf(5_000, event);
    const few = costOf(10_000, event);
    expect(costOf(80_000, event)).toBeLessThan(Math.max(few, 10) * 40);
  });
});
