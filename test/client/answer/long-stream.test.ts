import type { JsonObject } from "@bufbuild/protobuf";
import { artifact, completed, working } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AnswerFold } from "../../../src/client/answer/fold.js";
import { emptyTask } from "../../../src/protocol/fold.js";
import type { StreamResponse } from "../../../src/protocol/model.js";
import { connectTo } from "../../../src/testing/index.js";
import { cutAfter } from "../../support/fault-schedule.js";
import { itemsOf } from "../../support/items.js";
import { tries } from "../../support/tries.js";
import { type FaultyServer, faultyServer } from "../stream/faults-server.js";
import { chunk, status, taskEvent } from "../stream/resuming-events.js";

describe("a stream that is resumed", () => {
  let faulty: FaultyServer;
  beforeAll(async () => {
    faulty = await faultyServer();
  });
  afterAll(() => faulty[Symbol.asyncDispose]());

  it.each(["JSONRPC", "HTTP+JSON", "GRPC", "CONNECT"] as const)(
    "a stream that is resumed gives each text once, and the whole answer: %s",
    async (binding) => {
      await using way = await faulty.way(binding, [
        cutAfter("response", 900, "reset"),
        cutAfter("response", 700, "end"),
      ]);
      const stream = way.client.stream("go");
      expect((await itemsOf(stream.text)).join("")).toBe("one two three");
      expect(await stream.answer).toMatchObject({
        state: "completed",
        text: "one two three",
        artifacts: [{ id: "x" }],
      });
      await using other = await faulty.way(binding, [
        cutAfter("response", 900, "reset"),
        cutAfter("response", 700, "end"),
      ]);
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

  it("a stream beyond `replyMaxBytes` gives all events and all text, and no answer", async () => {
    await using client = await connectTo(long, { client: { limits } });
    const stream = client.stream("go");
    const events = await itemsOf(stream);
    expect(events).toHaveLength(103);
    await expect(stream.answer).rejects.toMatchObject(refused);
    const texts = client.stream("go");
    expect((await itemsOf(texts.text)).join("")).toHaveLength(100_000);
    await expect(texts.answer).rejects.toMatchObject(refused);
  });

  it("a stream beyond `replyMaxBytes` is closed at the limit when only its answer is read", async () => {
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

/** The event with metadata of the task, or of the artifact. */
function withMetadata(event: StreamResponse, metadata: JsonObject): StreamResponse {
  if (event.payload.case === "statusUpdate") event.payload.value.metadata = metadata;
  if (event.payload.case === "artifactUpdate" && event.payload.value.artifact) {
    event.payload.value.artifact.metadata = metadata;
  }
  return event;
}

describe("the fold of a stream", () => {
  it.each([
    ["statuses", () => status("WORKING")],
    ["chunks", () => chunk("")],
  ])("the fold of a stream counts metadata that stays, and not what is replaced: %s", (_, event) => {
    const large = "x".repeat(1_000);
    const fold = new AnswerFold(20_000);
    for (let place = 0; place < 100; place++) fold.add(withMetadata(event(), { note: large, place }));
    expect(fold.isFull).toBe(false);
    for (let place = 0; place < 100; place++) fold.add(withMetadata(event(), { [`note${place}`]: large }));
    expect(fold.isFull).toBe(true);
    expect(() => fold.result()).toThrow("the limit `replyMaxBytes` is 20,000");
  });

  it("the fold of a stream leaves the events that it folds as they are, with their metadata", () => {
    const fold = new AnswerFold(Number.POSITIVE_INFINITY);
    const first = { ...emptyTask("t", "c"), metadata: { a: 1 } };
    const events = [status("WORKING"), chunk("x", false), status("WORKING"), chunk("y")];
    fold.add(taskEvent(first));
    for (const [place, event] of events.entries()) fold.add(withMetadata(event, { [`k${place}`]: place }));
    expect(first.metadata).toEqual({ a: 1 });
    expect(fold.result()).toMatchObject({
      metadata: { a: 1, k0: 0, k2: 2 },
      artifacts: [{ metadata: { k1: 1, k3: 3 }, parts: [{ content: { value: "xy" } }] }],
    });
    expect(events[1]).toMatchObject({ payload: { value: { artifact: { metadata: { k1: 1 } } } } });
    expect(JSON.stringify(events[1])).not.toContain("k3");
  });

  /** Milliseconds of CPU time for so many events. */
  function costOf(count: number, event: (place: number) => StreamResponse): number {
    const fold = new AnswerFold(Number.POSITIVE_INFINITY);
    const events = Array.from({ length: count }, (_, place) => event(place));
    const before = process.cpuUsage();
    for (const each of events) fold.add(each);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  }

  it.each([
    ["statuses with messages", (place: number) => status("WORKING", `step ${place}`)],
    ["chunks of one artifact", (place: number) => chunk("x", place > 0)],
    ["artifacts", (place: number) => chunk("x", false, `a${place}`)],
    ["statuses with metadata", (place: number) => withMetadata(status("WORKING"), { [`k${place}`]: place })],
    ["chunks with metadata", (place: number) => withMetadata(chunk("x", place > 0), { [`k${place}`]: place })],
  ])("the fold of a stream costs the same for each event, however many came before: %s", (_, event) => {
    const count = tries(4_000, 10_000);
    costOf(count / 2, event);
    const few = costOf(count, event);
    const most = Math.max(few, 10) * 40;
    let many = costOf(count * 8, event);
    // One of three may have to collect the garbage of other tests.
    for (let others = 0; many >= most && others < 2; others++) many = costOf(count * 8, event);
    expect(many).toBeLessThan(most);
  });
});
