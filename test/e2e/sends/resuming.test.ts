import { artifact, completed, inputRequired, type StreamItem, working } from "trivium";
import { expect, it } from "vitest";
import { itemsOf } from "../../support/items.js";
import { errorOf, lineOf, openStream, requestOf, say, stateOf, taskOf } from "../../support/say.js";
import { overEach, type ServedAgent } from "../../support/serve-agent.js";
import { closingLines, wiresThat } from "../../support/wires.js";

// A broken stream resumes after the last event seen. Event streams over HTTP carry event ids, and so does the
// in-process transport.

const subscribe = (id: string) => requestOf("subscribeToTask", { id });
const idsOf = (items: readonly StreamItem[]): (string | undefined)[] => items.map(({ id }) => id);

/** Runs a task to its end and returns its stream. */
async function run(
  { client }: ServedAgent,
  text = "x",
): Promise<{ readonly id: string; readonly items: StreamItem[] }> {
  const items = await itemsOf(client.sendStreamingMessage(say(text), {}));
  const first = items[0];
  if (first === undefined) throw new Error("the stream was empty");
  return { id: taskOf(first.response).id, items };
}

overEach(wiresThat("number events"), (start) => {
  const threeEvents = async function* () {
    yield working();
    yield artifact("a", { artifactId: "x" });
    yield artifact("b", { artifactId: "x", append: true, lastChunk: true });
  };

  it("every event of a task has an id of its own, and a message has none", async () => {
    await using served = await start({ agent: threeEvents });
    const { items } = await run(served);
    expect(new Set(idsOf(items)).size).toBe(items.length);
    expect(idsOf(items)).not.toContain(undefined);
  });

  // Requirements: V03-SSE-13
  it("a subscription with an event id gets exactly the later events, even after the task ended", async () => {
    await using served = await start({ agent: threeEvents });
    const { id, items } = await run(served);
    for (const [index, { id: after }] of items.entries()) {
      expect(await itemsOf(served.client.subscribeToTask(subscribe(id), { after }))).toEqual(items.slice(index + 1));
    }
  });

  it("a send with an event id resumes that task and starts no turn", async () => {
    let turns = 0;
    await using served = await start({
      agent() {
        turns++;
        return threeEvents();
      },
    });
    const { items } = await run(served);
    for (const [index, { id: after }] of items.entries()) {
      expect(await itemsOf(served.client.sendStreamingMessage(say("x"), { after }))).toEqual(items.slice(index + 1));
    }
    expect(turns).toBe(1);
  });

  it("a stream that broke while the task ran resumes live", async () => {
    const gate = Promise.withResolvers<void>();
    await using served = await start({
      async *agent() {
        yield working();
        await gate.promise;
        yield artifact("b", { artifactId: "x" });
      },
    });
    const broken = await openStream(served.client.sendStreamingMessage(say("x"), {}));
    await broken.iterator.return?.();
    const again = openStream(served.client.sendStreamingMessage(say("x"), { after: broken.firstItem.id }));
    const { firstItem: first, readRest: rest } = await again;
    expect(lineOf(first)).toBe("status WORKING");
    gate.resolve();
    expect(await rest()).toEqual(['artifact x "b"', "status COMPLETED"]);
  });

  it("the snapshot of a subscription carries the id of the last event folded in", async () => {
    await using served = await start({
      async *agent({ task }) {
        yield task === undefined ? inputRequired("more?") : completed();
      },
    });
    const { id, items } = await run(served);
    const { firstItem: first, iterator } = await openStream(served.client.subscribeToTask(subscribe(id), {}));
    expect(stateOf(taskOf(first.response))).toBe("INPUT_REQUIRED");
    await iterator.return?.();
    await served.client.sendMessage(say("here", { taskId: id }), {});
    const rest = await itemsOf(served.client.subscribeToTask(subscribe(id), { after: first.id }));
    expect(rest.map(lineOf)).toEqual(["status COMPLETED"]);
    const all = await itemsOf(served.client.subscribeToTask(subscribe(id), { after: items[0]?.id }));
    expect(all.map(lineOf)).toEqual(["status INPUT_REQUIRED", "status COMPLETED"]);
  });

  it.each([
    ["garbage", () => "not an id"],
    ["one beyond the head", (id: string) => `${id.slice(0, id.lastIndexOf("."))}.zzzz`],
    ["one of another incarnation", (id: string) => id.replace(/\.[^.]+(\.[^.]+)$/, ".other$1")],
    ["one with a number that is too large", (id: string) => `${id}zzzzzzzzzzzzzzzzzzzz`],
    ["an endless one", () => "x".repeat(5000)],
  ])("the event id %s gives a subscription a fresh snapshot, never an error", async (_, forge) => {
    await using served = await start({ agent: threeEvents });
    const { id, items } = await run(served);
    const after = forge(items[1]?.id ?? "");
    const again = await itemsOf(served.client.subscribeToTask(subscribe(id), { after }));
    expect(again.map(lineOf)).toEqual(["task COMPLETED", ...closingLines(served.wire, "COMPLETED")]);
    expect(await itemsOf(served.client.subscribeToTask(subscribe(id), { after: again[0]?.id }))).toEqual([]);
  });

  it("the id of an event of another task gives a subscription a fresh snapshot of its own task", async () => {
    await using served = await start({ agent: threeEvents });
    const one = await run(served);
    const other = await run(served);
    const after = other.items[1]?.id;
    const again = await itemsOf(served.client.subscribeToTask(subscribe(one.id), { after }));
    expect(again.map(lineOf)).toEqual(["task COMPLETED", ...closingLines(served.wire, "COMPLETED")]);
    expect(again[0] && taskOf(again[0].response).id).toBe(one.id);
  });

  it.each(["not an id", "019a0000-0000-7000-8000-000000000000.x.3"])(
    "a send with an event id that means nothing to it is executed: %s",
    async (after) => {
      await using served = await start({ agent: threeEvents });
      const items = await itemsOf(served.client.sendStreamingMessage(say("x"), { after }));
      expect(items.map(lineOf).at(0)).toBe("task SUBMITTED");
      expect(items.map(lineOf).at(-1)).toBe("status COMPLETED");
    },
  );

  it("an event id gives no access to another caller's task", async () => {
    await using served = await start({
      authenticate: ({ header }) => ({ owner: header("x-owner") ?? "" }),
      agent: threeEvents,
    });
    const mine = { "x-owner": "me" };
    const items = await itemsOf(served.client.sendStreamingMessage(say("x"), { headers: mine }));
    const first = items[0];
    const after = first?.id;
    const theirs = { headers: { "x-owner": "them" }, after };
    const id = first === undefined ? "" : taskOf(first.response).id;
    expect(await errorOf(served.client.subscribeToTask(subscribe(id), theirs))).toMatchObject({ code: "taskNotFound" });
    const own = await itemsOf(served.client.sendStreamingMessage(say("x"), theirs));
    expect(own[0] && taskOf(own[0].response).id).not.toBe(id);
    expect(own).toHaveLength(items.length);
  });
});
