import { artifact, completed, data, failed, inputRequired, memoryTaskStore, working } from "trivium";
import { expect, it } from "vitest";
import { errorOf, openStream, requestOf, say, stateOf, taskOf, textIn } from "../support/say.js";
import { overEach, overEveryWire } from "../support/serve-agent.js";
import { createVirtualClock } from "../support/virtual-clock.js";
import { errorOverWire, expectWrong, wiresThat } from "../support/wires.js";

const authenticate = ({ header }: { header(name: string): string | undefined }) => ({
  owner: header("x-owner") ?? "nobody",
});
const as = (owner: string) => ({ headers: { "x-owner": owner } });

overEveryWire((start) => {
  // Requirements: V1-SEC-12
  it.each([
    ["an event", { eventMaxBytes: 1000 }, 1, 2000],
    ["a task", { taskMaxBytes: 5000 }, 20, 500],
  ])("%s over its limit fails the task, with the limit named", async (_, limits, count, size) => {
    await using served = await start({
      limits,
      async *agent() {
        for (let index = 0; index < count; index++) yield artifact("x".repeat(size));
      },
    });
    const task = taskOf(await served.client.sendMessage(say("go"), {}));
    expect(stateOf(task)).toBe("FAILED");
    expect(textIn(task.status?.message?.parts)).toContain(String(Object.values(limits)[0]));
  });

  // Requirements: V1-SEC-12
  it("an oversized request is refused with the limit named, and the next one is answered", async () => {
    let turns = 0;
    await using served = await start({
      limits: { contentMaxBytes: 10_000, jsonBodyMaxBytes: 10_000 },
      async agent() {
        turns++;
        return completed();
      },
    });
    const error = await errorOf(served.client.sendMessage(say("x".repeat(20_000)), {}));
    expect(error).toMatchObject(errorOverWire(served.wire, { code: "contentTooLarge" }));
    expect(error.message).toMatch(/over the limit of 10000 bytes \(.*contentMaxBytes/);
    expect(turns).toBe(0);
    expect(stateOf(taskOf(await served.client.sendMessage(say("small"), {})))).toBe("COMPLETED");
  });

  it("a request of too many JSON values is refused with the limit named, and the next one is answered", async () => {
    let turns = 0;
    await using served = await start({
      limits: { jsonMaxValues: 200 },
      async agent() {
        turns++;
        return completed();
      },
    });
    const withData = (count: number) => say(data({ list: Array(count).fill(0) }));
    const error = await errorOf(served.client.sendMessage(withData(500), {}));
    expect(error).toMatchObject(errorOverWire(served.wire, { code: "contentTooLarge" }));
    expect(error.message).toContain("200 JSON values and names (jsonMaxValues)");
    expect(turns).toBe(0);
    expect(stateOf(taskOf(await served.client.sendMessage(withData(100), {})))).toBe("COMPLETED");
  });

  it("a full history accepts no further message", async () => {
    await using served = await start({ limits: { historyMaxMessages: 2 }, agent: async () => inputRequired("more?") });
    const { id: taskId } = taskOf(await served.client.sendMessage(say("one"), {}));
    const error = await errorOf(served.client.sendMessage(say("two", { taskId }), {}));
    expect(error).toMatchObject(errorOverWire(served.wire, { code: "resourceExhausted" }));
    expect(error.message).toContain("2 messages");
  });

  it("a turn over its deadline fails its task", async () => {
    const clock = createVirtualClock();
    const at = Promise.withResolvers<void>();
    await using served = await start({
      clock,
      limits: { turnDeadlineMs: 60_000 },
      async *agent({ signal }) {
        yield working();
        at.resolve();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    });
    const answer = served.client.sendMessage(say("go"), {});
    await at.promise;
    await clock.advance(60_000);
    const task = taskOf(await answer);
    expect([stateOf(task), textIn(task.status?.message?.parts)]).toEqual([
      "FAILED",
      "turn deadline exceeded: the limit is 60000 ms (turnDeadlineMs)",
    ]);
  });

  // Requirements: V1-SEC-12
  it("a message with too many parts is refused, with the field named", async () => {
    await using served = await start({ limits: { partsMax: 3 }, agent: async () => failed() });
    const parts = Array.from({ length: 4 }, () => say("x").message?.parts ?? []).flat();
    const error = await errorOf(served.client.sendMessage(say(parts), {}));
    expectWrong(served.wire, error, "message.parts");
  });

  it("an owner too long to store is refused with its size and the limit, and no agent starts", async () => {
    let turns = 0;
    await using served = await start({
      authenticate,
      async agent() {
        turns++;
        return completed();
      },
    });
    const { client } = served;
    const long = as("o".repeat(4096));
    for (const call of [client.sendMessage(say("go"), long), client.sendStreamingMessage(say("go"), long)]) {
      const error = await errorOf(call);
      expect(error).toMatchObject(errorOverWire(served.wire, { code: "invalidParams" }));
      expect(error.message).toContain("owner has 4096 bytes, the limit is 768");
    }
    expect(turns).toBe(0);
    expect(stateOf(taskOf(await client.sendMessage(say("go"), as("o".repeat(768)))))).toBe("COMPLETED");
  });

  it("a context id too long to store is refused, whatever the id limit, and no agent starts", async () => {
    let turns = 0;
    await using served = await start({
      limits: { idMaxLength: 5000 },
      async agent() {
        turns++;
        return completed();
      },
    });
    const error = await errorOf(served.client.sendMessage(say("go", { contextId: "c".repeat(1025) }), {}));
    expectWrong(served.wire, error, "message.contextId");
    expect(error.message).toContain("has 1025 bytes, the limit is 1024");
    expect(turns).toBe(0);
    const task = taskOf(await served.client.sendMessage(say("go", { contextId: "c".repeat(1024) }), {}));
    expect(task.contextId).toHaveLength(1024);
  });
});

overEveryWire((start) => {
  it("an owner whose tasks take its share of the memory store is refused, and others are served", async () => {
    await using served = await start({
      authenticate,
      store: memoryTaskStore({ maxBytes: 100_000 }),
      agent: async () => inputRequired("more?"),
    });
    const { client } = served;
    await client.sendMessage(say("x".repeat(40_000)), as("alice"));
    const error = await errorOf(client.sendMessage(say("x".repeat(20_000)), as("alice")));
    expect(error).toMatchObject(errorOverWire(served.wire, { code: "resourceExhausted", retryAfterMs: 1000 }));
    expect(error.message).toContain("more than half of what others leave of 100000 bytes (maxBytes)");
    expect(stateOf(taskOf(await client.sendMessage(say("x".repeat(20_000)), as("bob"))))).toBe("INPUT_REQUIRED");
  });
});

overEach(wiresThat("answer at once"), (start) => {
  // Requirements: V1-ERR-11, V1-SEC-19
  it("the turn limit applies to each owner separately", async () => {
    const gate = Promise.withResolvers<void>();
    await using served = await start({
      authenticate,
      limits: { turnsPerOwner: 1, turnWaitMs: 0 },
      async *agent() {
        yield working();
        await gate.promise;
      },
    });
    const { client } = served;
    const immediately = say("go", { configuration: { returnImmediately: true } });
    await client.sendMessage(immediately, as("alice"));
    const error = await errorOf(client.sendMessage(immediately, as("alice")));
    expect(error).toMatchObject(errorOverWire(served.wire, { code: "resourceExhausted", retryAfterMs: 1000 }));
    expect(taskOf(await client.sendMessage(immediately, as("bob"))).id).not.toBe("");
    gate.resolve();
  });
});

overEach(wiresThat("watch beyond a question"), (start) => {
  // Requirements: V1-SEC-19
  it("streams of one principal are limited, and a closed one frees its slot", async () => {
    await using served = await start({
      authenticate,
      limits: { streamsPerPrincipal: 1 },
      agent: async () => inputRequired("more?"),
    });
    const { client } = served;
    const make = async () => taskOf(await client.sendMessage(say("go"), as("alice"))).id;
    const [id, other] = [await make(), await make()];
    const subscribe = (id: string) => client.subscribeToTask(requestOf("subscribeToTask", { id }), as("alice"));
    const stream = await openStream(subscribe(id));
    expect(await errorOf(subscribe(other))).toMatchObject(errorOverWire(served.wire, { code: "resourceExhausted" }));
    await client.cancelTask(requestOf("cancelTask", { id }), as("alice"));
    await stream.readRest();
    expect(stateOf(taskOf((await openStream(subscribe(other))).firstItem.response))).toBe("INPUT_REQUIRED");
  });
});
