import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/core/agent.js";
import type { TaskStore } from "../../src/core/ports.js";
import { artifact, inputRequired, park, working } from "../../src/protocol/events.js";
import { idempotentSendExtension } from "../../src/protocol/extensions.js";
import { memoryPushStore } from "../../src/store/memory/push-store.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { around } from "../support/fault-store.js";
import { beginTask, contextOf, startHandler, type TestHandler } from "../support/handler.js";
import { errorOf, requestOf, stateOf, taskOf, textIn } from "../support/say.js";
import { createVirtualClock, settle, type VirtualClock } from "../support/virtual-clock.js";

/** A working task over a store whose writes fail on request. */
async function failing(agent: Agent) {
  const clock = createVirtualClock();
  const state = { broken: false };
  const beforeFlush = (): Promise<void> | undefined =>
    state.broken ? Promise.reject(new Error("no store")) : undefined;
  const served = await beginTask({ agent, clock, store: memoryTaskStore({ clock, beforeFlush }) });
  return { ...served, state };
}

/** A memory store with one method that always rejects. */
function without(name: keyof TaskStore, clock: VirtualClock): TaskStore {
  return Object.assign(memoryTaskStore({ clock }), { [name]: async () => Promise.reject(new Error("no store")) });
}

describe("a store that fails", () => {
  it.each<[keyof TaskStore, (handler: TestHandler) => Promise<unknown> | AsyncIterable<unknown>]>([
    ["read", ({ get }) => get("t")],
    ["read", ({ send }) => send("x", { taskId: "t" })],
    ["read", ({ cancel }) => cancel("t")],
    ["head", ({ subscribe }) => subscribe("t")],
    ["list", ({ operations }) => operations.listTasks(requestOf("listTasks"), contextOf())],
    ["beginSend", ({ send }) => send("x", {}, { extensions: [idempotentSendExtension] })],
  ])("the handler answers with unavailable and logs the cause when the store cannot %s", async (name, call) => {
    const clock = createVirtualClock();
    await using served = startHandler({ agent: async () => {}, clock, store: without(name, clock) });
    const error = await errorOf(call(served));
    expect(error).toMatchObject({ code: "unavailable", retryAfterMs: 1000 });
    expect(error.message).not.toContain("no store");
    expect(served.log).toContainEqual(expect.objectContaining({ level: "error", message: "the task store failed" }));
  });

  it("a send is answered with unavailable when the store fails to claim its task", async () => {
    const clock = createVirtualClock();
    const beforeFlush = () => Promise.reject(new Error("no store"));
    const store = memoryTaskStore({ clock, beforeFlush });
    await using served = startHandler({ agent: async () => {}, clock, store });
    const errors = [errorOf(served.send("x")), errorOf(served.stream("x"))];
    await clock.advance(40_000);
    for (const error of errors)
      expect(await error).toMatchObject({ code: "unavailable", cause: { message: "no store" } });
  });

  it("a turn pauses until a failing store recovers, and no event is lost or written twice", async () => {
    const gate = Promise.withResolvers<void>();
    await using served = await failing(async ({ emit }) => {
      await emit(working());
      await gate.promise;
      for (const text of ["1", "2", "3"])
        await emit(artifact(text, { artifactId: "a", append: true, lastChunk: true }));
    });
    const rest = served.opening.readRest();
    served.state.broken = true;
    gate.resolve();
    await served.clock.advance(20_000);
    expect((await served.get(served.taskId)).artifacts).toEqual([]);
    served.state.broken = false;
    await served.clock.advance(2000);
    expect(await rest).toEqual([
      "status WORKING",
      'artifact a "1" last',
      'artifact a "2" append last',
      'artifact a "3" append last',
      "status COMPLETED",
    ]);
    // Once, however often the write is tried again.
    const records = served.log.filter(({ message }) => message === "the task store failed, the turn waits");
    expect(records).toMatchObject([{ level: "warn", fields: { taskId: served.taskId, err: { message: "no store" } } }]);
  });

  it("a turn ends once a failing store recovers, with the message that has come meanwhile", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    let broken = false;
    const gate = Promise.withResolvers<void>();
    const failing = around(store, async ({ method }, go) => {
      if (broken && method === "inbox") throw new Error("no store");
      return go();
    });
    const agent: Agent = async ({ text, emit }) => {
      await emit(working());
      await gate.promise;
      return text === "go" ? park() : inputRequired(`more than ${text}?`);
    };
    await using served = await beginTask({ agent, clock, store: failing });
    const { taskId } = served;
    broken = true;
    const answer = served.send("more", { taskId });
    await settle();
    gate.resolve();
    await clock.advance(10_000);
    broken = false;
    await clock.advance(10_000);
    expect(textIn(taskOf(await answer).status?.message?.parts)).toBe("more than more?");
  });

  it("a store failure longer than a turn waits throws in the agent, and fails the task on recovery", async () => {
    const gate = Promise.withResolvers<void>();
    const answers: unknown[] = [];
    await using served = await failing(async ({ emit, signal }) => {
      await emit(working());
      await gate.promise;
      await emit(working("again")).catch((error: unknown) => answers.push(error));
      answers.push(signal.aborted);
    });
    const rest = served.opening.readRest();
    served.state.broken = true;
    gate.resolve();
    await served.clock.advance(26_000);
    expect(answers).toEqual([]);
    await served.clock.advance(5000);
    expect(answers).toEqual([expect.objectContaining({ message: "no store" }), true]);
    served.state.broken = false;
    await served.clock.advance(6000);
    const task = await served.get(served.taskId);
    expect([stateOf(task), textIn(task.status?.message?.parts)]).toEqual([
      "FAILED",
      "the process that worked on the task has gone",
    ]);
    expect(await rest).toEqual(["status WORKING", "status FAILED"]);
  });

  it("a store failure longer than the lease lets another process take over, and late events are fenced", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const gate = Promise.withResolvers<void>();
    const answers: unknown[] = [];
    const agent: Agent = async ({ emit, attempt, signal }) => {
      await emit(working());
      if (attempt > 1) return emit(artifact("of the second", { artifactId: "a", lastChunk: true }));
      await gate.promise;
      await emit(artifact("of the first", { artifactId: "a", lastChunk: true })).catch((error) => answers.push(error));
      answers.push(signal.aborted);
    };
    const line = { broken: false };
    const restartable = true;
    await using here = await beginTask({ agent, clock, restartable, store: breakable(store, line) });
    await using there = startHandler({ agent, clock, restartable, store });
    line.broken = true;
    await clock.advance(20_000);
    expect(stateOf(await there.get(here.taskId))).toBe("COMPLETED");
    const log = await store.recordsAfter(1, 0, 100);
    line.broken = false;
    gate.resolve();
    await clock.advance(10_000);
    expect(answers).toEqual([expect.objectContaining({ kind: "OwnershipLost" }), true]);
    expect(await store.recordsAfter(1, 0, 100)).toEqual(log);
    expect((await here.get(here.taskId)).artifacts.map(({ parts }) => textIn(parts))).toEqual(["of the second"]);
    expect(await here.opening.readRest()).toEqual([
      "status WORKING",
      "status WORKING",
      'artifact a "of the second" last',
      "status COMPLETED",
    ]);
    const next = here.send("go");
    await clock.advance(1000);
    expect(stateOf(taskOf(await next))).toBe("COMPLETED");
  });

  it("a failing store of push configurations makes calls unavailable, and the cause is logged", async () => {
    const failed = async (): Promise<never> => Promise.reject(new Error("no store at /srv/push.db"));
    const store = { ...memoryPushStore(), get: failed, list: failed, set: failed };
    const push = { store, check: () => [], added: () => {}, removed: () => {} };
    await using served = await beginTask({ agent: async ({ receive }) => void (await receive()), push });
    const { operations, taskId } = served;
    const listing = operations.listTaskPushNotificationConfigs(
      requestOf("listTaskPushNotificationConfigs", { taskId }),
      contextOf(),
    );
    const error = await errorOf(listing);
    expect(error).toMatchObject({ code: "unavailable", retryAfterMs: 1000 });
    expect(error.message).not.toContain("push.db");
    expect(served.log.map(({ message }) => message)).toContain("the store of push configurations failed");
  });
});

/** A store whose every call fails while the line is broken. */
function breakable(store: TaskStore, line: { readonly broken: boolean }): TaskStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: readonly unknown[]) =>
        line.broken ? Promise.reject(new Error("no store")) : Reflect.apply(member, target, args);
    },
  });
}
