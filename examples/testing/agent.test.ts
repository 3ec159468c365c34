import { setTimeout as sleep } from "node:timers/promises";
import { memoryTaskStore } from "trivium";
import { connectTo, createTestClock, waitFor } from "trivium/testing";
import { expect, it } from "vitest";
import { berths, type Office } from "./agent.ts";

const office: Office = { book: async () => "N4" };
const silent: Office = { book: (_ship, signal) => sleep(2 ** 30, "never", { signal }) };

it("asks for the ship, and books", async () => {
  await using client = await connectTo(berths(office));
  const question = await client.send("a berth, please");
  expect([question.state, question.text]).toEqual(["input-required", "Which ship?"]);
  const answer = await client.send("MV Alba", { continue: question });
  expect(answer.text).toBe("Berth N4 for MV Alba.");
  expect(answer.data()).toEqual({ berth: "N4" });
});

it("reports what it does while it does it", async () => {
  await using client = await connectTo(berths(office));
  const question = await client.send("a berth, please");
  const states: string[] = [];
  for await (const event of client.stream("MV Alba", { continue: question })) {
    if (event.type === "status") states.push(`${event.state} ${event.text}`.trim());
  }
  expect(states).toEqual(["working", "working booking for MV Alba", "completed"]);
});

it("knows who is calling", async () => {
  await using client = await connectTo(berths(office), {
    authenticate: ({ bearer }) => ({ owner: bearer ?? "" }),
    client: { headers: { authorization: "Bearer ada" } },
  });
  expect((await client.send("who am I?")).text).toBe("ada");
});

it("fails when the harbor office is silent for a minute", async () => {
  const clock = createTestClock();
  await using client = await connectTo(berths(silent), { clock, limits: { turnDeadlineMs: 60_000 } });
  const question = await client.send("a berth, please");
  const answer = client.send("MV Alba", { continue: question });
  await waitFor(client, question.taskId, "working");
  await clock.advance(60_000);
  expect(await answer).toMatchObject({ state: "failed" });
});

it("stops when it is canceled", async () => {
  await using client = await connectTo(berths(silent));
  const question = await client.send("a berth, please");
  const stopping = new AbortController();
  const answer = client.send("MV Alba", { continue: question, signal: stopping.signal, cancelOnAbort: true });
  await waitFor(client, question.taskId, "working");
  stopping.abort();
  await expect(answer).rejects.toThrow("aborted");
  expect((await client.wait(question.taskId)).state).toBe("canceled");
});

it("books in another process when its own dies", async () => {
  const clock = createTestClock();
  const shared = { store: memoryTaskStore({ clock }), restartable: true };
  await using dying = await connectTo(berths(silent), { ...shared, clock: createTestClock() });
  const question = await dying.send("a berth, please");
  await dying.send("MV Alba", { continue: question, configuration: { returnImmediately: true } });
  await waitFor(dying, question.taskId, "working");
  await using client = await connectTo(berths(office), { ...shared, clock });
  await clock.advance(20_000);
  expect((await client.wait(question.taskId)).text).toBe("Berth N4 for MV Alba.");
});

it("books nothing while its store is away", async () => {
  let isAway = true;
  const store = memoryTaskStore({
    async beforeFlush() {
      if (isAway) throw new Error("the disk is full");
    },
  });
  await using client = await connectTo(berths(office), { store, client: { retry: false }, logger: false });
  await expect(client.send("a berth, please")).rejects.toMatchObject({ code: "unavailable" });
  isAway = false;
  expect((await client.send("a berth, please")).state).toBe("input-required");
});
