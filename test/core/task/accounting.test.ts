import { afterEach, describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import { artifact, completed, inputRequired, working } from "../../../src/protocol/events.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { contextOf, startHandler, type TestHandler, type TestHandlerOptions } from "../../support/handler.js";
import { errorOf, openStream, requestOf, taskOf } from "../../support/say.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

// Every byte from callers counts against the limits of the store and of the task.

const kibibyte = 1024;
const large = "x".repeat(100 * kibibyte);

const handlers: TestHandler[] = [];
afterEach(async () => {
  for (const handler of handlers.splice(0)) await handler[Symbol.asyncDispose]();
});

function serve(agent: Agent, options: Omit<TestHandlerOptions, "agent"> = {}): TestHandler {
  const clock = createVirtualClock();
  const store = memoryTaskStore({ clock, maxBytes: 1024 * kibibyte });
  const served = startHandler({ store, ...options, clock, agent });
  handlers.push(served);
  return served;
}

async function countTasks({ operations }: TestHandler): Promise<number> {
  return (await operations.listTasks(requestOf("listTasks"), contextOf())).totalSize;
}

const done: Agent = async function* () {
  yield completed();
};

describe("the memory store", () => {
  it("counts the message that starts a task, and drops the oldest finished tasks for it", async () => {
    const served = serve(done);
    for (let index = 0; index < 30; index++) await served.send(large);
    expect(await countTasks(served)).toBeLessThanOrEqual(10);
    expect(await countTasks(served)).toBeGreaterThanOrEqual(4);
  });

  it("counts the messages that a turn receives", async () => {
    const clock = createVirtualClock();
    // The caller's share is half of it.
    const store = memoryTaskStore({ clock, maxBytes: 2048 * kibibyte });
    const agent: Agent = async function* ({ text, receive }) {
      if (text === "talk") for (let index = 0; index < 4; index++) await receive();
      yield completed();
    };
    const served = serve(agent, { store });
    for (let index = 0; index < 12; index++) await served.send(large);
    const before = await countTasks(served);
    expect(before).toBeGreaterThan(5);
    const talk = await openStream(served.stream("talk"));
    const { id: taskId } = taskOf(talk.firstItem.response);
    for (let index = 0; index < 4; index++) {
      const stream = served.stream(large, { taskId });
      await openStream(stream);
      await settle();
    }
    expect(await countTasks(served)).toBeLessThan(before);
  });

  it("counts waiting inbox messages, refuses one without room, and accepts more after one is taken", async () => {
    const served = serve(async function* ({ signal }) {
      yield working();
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    });
    const busy = await openStream(served.stream("work"));
    const { id: taskId } = taskOf(busy.firstItem.response);
    await settle();
    const refusals: unknown[] = [];
    for (let index = 0; index < 20; index++) {
      await openStream(served.stream(large, { taskId })).catch((error: unknown) => refusals.push(error));
    }
    expect(refusals.length).toBeGreaterThanOrEqual(10);
    expect(refusals[0]).toMatchObject({ code: "resourceExhausted" });
    await served.cancel(taskId);
    await settle();
    expect(taskOf(await served.send(large, { configuration: { returnImmediately: true } })).id).not.toBe("");
  });
});

describe("a task", () => {
  it("refuses a message beyond its limit", async () => {
    const ask: Agent = async function* () {
      yield inputRequired("more?");
    };
    const served = serve(ask, { limits: { taskMaxBytes: 250 * kibibyte } });
    const { id: taskId } = taskOf(await served.send(large));
    await served.send(large, { taskId });
    expect(await errorOf(served.send(large, { taskId }))).toMatchObject({
      code: "resourceExhausted",
      message: `the task is full: the limit is ${250 * kibibyte} bytes (taskMaxBytes)`,
    });
  });

  it("keeps its log after the last snapshot as short as the task, however often an artifact is replaced", async () => {
    let logged = 0;
    const served = serve(async function* ({ taskId }) {
      for (let index = 0; index < 400; index++) {
        yield artifact("y".repeat(10 * kibibyte), { artifactId: "x", lastChunk: true });
        const storedTask = await served.store.read({ agent: "", tenant: "", owner: "alice" }, taskId);
        logged = Math.max(logged, storedTask?.records.length ?? 0);
      }
      yield completed();
    });
    await served.send("go");
    expect(logged).toBeGreaterThan(0);
    expect(logged).toBeLessThan(20);
  });
});
