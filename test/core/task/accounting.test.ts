import { afterEach, describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import { textOf } from "../../../src/protocol/content/read.js";
import { artifact, completed, inputRequired, working } from "../../../src/protocol/events.js";
import { TaskState } from "../../../src/protocol/model.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { contextOf, startHandler, type TestHandler, type TestHandlerOptions } from "../../support/handler.js";
import { errorOf, openStream, requestOf, stateOf, taskOf } from "../../support/say.js";
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
  it("the memory store counts the message that starts a task, and drops the oldest finished tasks for it", async () => {
    const served = serve(done);
    for (let index = 0; index < 30; index++) await served.send(large);
    expect(await countTasks(served)).toBeLessThanOrEqual(10);
    expect(await countTasks(served)).toBeGreaterThanOrEqual(4);
  });

  it("the memory store counts the messages that a turn receives", async () => {
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

  it("the memory store counts waiting inbox messages, and refuses one without room until one is taken", async () => {
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

describe("an owner whose tasks take more than their share of the memory store", () => {
  const small = 100 * kibibyte;
  const refusal = `the memory store is full: unfinished tasks of this caller take more than half of what others leave of ${small} bytes (maxBytes)`;
  const chunk = "y".repeat(5 * kibibyte);
  const bobs = { principal: { owner: "bob" } };

  const smallStore = () => memoryTaskStore({ maxBytes: small, clock: createVirtualClock() });

  it("an owner beyond its share of the store has its task failed, and others are served", async () => {
    let refused = 0;
    const fill: Agent = async function* ({ principal }) {
      yield working();
      if (principal.owner === "alice") {
        for (let count = 0; count < 65; count++) {
          yield artifact(chunk, { artifactId: "x", lastChunk: true });
          const answer = await served.send("go", {}, bobs).catch(() => undefined);
          if (answer === undefined) refused += 1;
        }
      }
      yield completed();
    };
    const served = serve(fill, { store: smallStore() });
    const task = taskOf(await served.send("go"));
    expect(stateOf(task)).toBe("FAILED");
    expect(textOf(task.status?.message?.parts ?? [])).toBe(refusal);
    expect(refused).toBe(0);
    expect(stateOf(taskOf(await served.send("go", {}, bobs)))).toBe("COMPLETED");
    expect(served.log.filter(({ level }) => level === "error")).toEqual([]);
  });

  it("an owner beyond its share of the store has its turn aborted when a chunk is refused unseen", async () => {
    let reason: unknown;
    const served = serve(
      async function* ({ signal }) {
        yield working();
        for (let count = 0; count < 20; count++) yield artifact(chunk, { artifactId: "x", append: count > 0 });
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        reason = signal.reason;
      },
      { store: smallStore() },
    );
    const states: unknown[] = [];
    for await (const { response } of served.stream("go")) {
      if (response.payload.case === "statusUpdate") states.push(TaskState[response.payload.value.status?.state ?? 0]);
    }
    expect(states.at(-1)).toBe("FAILED");
    await settle();
    expect(reason).toMatchObject({ name: "AbortError", kind: "OwnershipLost" });
  });

  it("a task whose last chunk was refused gets no COMPLETED", async () => {
    const served = serve(
      async function* () {
        yield working();
        for (let count = 0; count < 8; count++)
          yield artifact(chunk, { artifactId: "x", append: count > 0, lastChunk: true });
        yield artifact(chunk.repeat(2), { artifactId: "x", append: true });
        await settle();
      },
      { store: smallStore() },
    );
    const { id } = taskOf(await served.send("go"));
    const task = await served.get(id);
    expect(stateOf(task)).toBe("FAILED");
    expect(textOf(task.status?.message?.parts ?? [])).toBe(refusal);
  });

  it("an owner beyond its share may send again once its tasks have ended, and not before", async () => {
    const served = serve(
      async function* ({ text }) {
        if (text === "end") yield completed();
        else yield inputRequired("more?");
      },
      { store: smallStore() },
    );
    const { id: taskId } = taskOf(await served.send(chunk.repeat(8)));
    expect(await errorOf(served.send(chunk.repeat(2)))).toMatchObject({ code: "resourceExhausted", message: refusal });
    expect(await errorOf(served.send(chunk.repeat(2), { taskId }))).toMatchObject({ message: refusal });
    expect(stateOf(taskOf(await served.send(chunk.repeat(2), {}, bobs)))).toBe("INPUT_REQUIRED");
    await served.cancel(taskId);
    expect(stateOf(taskOf(await served.send(chunk.repeat(2))))).toBe("INPUT_REQUIRED");
  });
});

describe("a task", () => {
  it("a task refuses a message beyond its limit", async () => {
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

  it("a task keeps its log as short as itself, however often an artifact is replaced", async () => {
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
