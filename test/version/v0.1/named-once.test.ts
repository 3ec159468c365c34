import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import type { TaskStore } from "../../../src/core/ports.js";
import { completed, inputRequired, reply } from "../../../src/protocol/events.js";
import { idempotentSendExtension } from "../../../src/protocol/extensions.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { startHandler } from "../../support/handler.js";
import { itemsOf } from "../../support/items.js";
import { errorOf, historyOf, linesOf, stateOf, taskOf } from "../../support/say.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

const alice = { agent: "", tenant: "", owner: "alice" };
const once = { namesTasks: true, version: "an old one", extensions: [idempotentSendExtension] };
const order = { taskId: "order", messageId: "m" };

/** Two handlers of one store, and a record of their agent's starts. */
function two(
  store: (clock: ReturnType<typeof createVirtualClock>) => TaskStore = (clock) => memoryTaskStore({ clock }),
) {
  const clock = createVirtualClock();
  const started: string[] = [];
  const agent: Agent = async function* ({ text, task, attempt }) {
    started.push(`${text} ${attempt}`);
    yield task === undefined ? inputRequired("?") : completed();
  };
  const shared = store(clock);
  const here = startHandler({ store: shared, clock, agent });
  const there = startHandler({ store: shared, clock, agent });
  return {
    here,
    there,
    clock,
    started,
    store: shared,
    async [Symbol.asyncDispose]() {
      await here[Symbol.asyncDispose]();
      await there[Symbol.asyncDispose]();
    },
  };
}

/** Returns the store with one member replaced. */
function withMember<K extends keyof TaskStore>(store: TaskStore, name: K, own: TaskStore[K]): TaskStore {
  return new Proxy(store, {
    get(target, key) {
      const member: unknown = key === name ? own : Reflect.get(target, key);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

describe("an idempotent send to a named task", () => {
  it("an idempotent send to a named task has the same result when repeated, though the name is taken", async () => {
    await using served = two();
    const { here, there, started } = served;
    const first = taskOf(await here.send("tea", order, once));
    expect(taskOf(await there.send("tea", order, once))).toEqual(first);
    expect(first.id).toBe("order");
    const [snapshot] = await itemsOf(there.stream("tea", order, once));
    expect(snapshot?.response.payload).toMatchObject({ case: "task", value: { id: "order" } });
    expect(started).toEqual(["tea 1"]);
  });

  it("an idempotent send to a named task has the same result even if its task has ended since", async () => {
    await using served = two();
    const { here, there, started } = served;
    const question = taskOf(await here.send("tea", order, once));
    const answer = { taskId: "order", messageId: "n" };
    const done = taskOf(await here.send("green", answer, once));
    expect(taskOf(await there.send("green", answer, once))).toEqual(done);
    expect(taskOf(await there.send("tea", order, once))).toEqual(question);
    expect([stateOf(question), stateOf(done)]).toEqual(["INPUT_REQUIRED", "COMPLETED"]);
    expect(started).toEqual(["tea 1", "green 1"]);
  });

  it("an idempotent send is another message under another name, and with another text", async () => {
    await using served = two();
    await served.here.send("tea", order, once);
    for (const other of [
      served.here.send("tea", { ...order, taskId: "other" }, once),
      served.here.send("cake", order, once),
    ]) {
      expect(await errorOf(other)).toMatchObject({
        code: "invalidParams",
        violations: [{ field: "message.messageId" }],
      });
    }
    expect(await served.store.taskNamed(alice, "other")).toBeUndefined();
  });

  it("an idempotent send to a named task makes a task of an agent's reply, and gives it again", async () => {
    const clock = createVirtualClock();
    await using served = startHandler({ clock, agent: async ({ text }) => reply(`${text}!`) });
    const first = taskOf(await served.send("tea", order, once));
    expect(stateOf(first)).toBe("COMPLETED");
    expect(taskOf(await served.send("tea", order, once))).toEqual(first);
    expect(await linesOf(served.stream("tea", order, once))).toEqual(["task SUBMITTED", "status COMPLETED"]);
  });

  it("an idempotent send goes once to a named task that another send has created meanwhile", async () => {
    await using served = two();
    const { here, there, clock, started, store } = served;
    const other = { taskId: "order", messageId: "n" };
    const answers = Promise.all([
      here.send("tea", order, once),
      there.send("green", other, once),
      here.send("green", other, once),
      there.send("tea", order, once),
    ]);
    await settle();
    await clock.advance(3000);
    for (const answer of await answers) expect(taskOf(answer).id).toBe("order");
    expect((await store.list(alice, { limit: 9 })).total).toBe(1);
    expect([started.length, new Set(started)]).toEqual([2, new Set(["tea 1", "green 1"])]);
    const { history } = await here.get("order", once);
    expect(history.map(({ messageId }) => messageId).filter((id) => ["m", "n"].includes(id)).length).toBe(2);
  });

  it("an idempotent send is taken over from a process that died before creating its named task", async () => {
    const never = new Promise<never>(() => {});
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const started: string[] = [];
    const agent: Agent = async function* ({ text, attempt, task }) {
      started.push(`${text} ${attempt}`);
      yield task === undefined ? inputRequired("?") : completed();
    };
    // Its writes hang, and it stops renewing its lease.
    const goneClock = createVirtualClock();
    const hanging = startHandler({ clock: goneClock, store: withMember(store, "create", () => never), agent });
    void hanging.send("tea", order, once).catch(() => {});
    await settle();
    expect((await store.readSend(alice, "m"))?.seq).toBe(0);
    await using served = startHandler({ clock, store, agent });
    await served.send("green", { taskId: "order", messageId: "n" }, once);
    await clock.advance(60_000);
    const again = served.send("tea", order, once);
    await clock.advance(3000);
    const task = taskOf(await again);
    expect([task.id, stateOf(task), historyOf(task)]).toEqual([
      "order",
      "COMPLETED",
      ["user: green", "agent: ?", "user: tea"],
    ]);
    expect(started).toEqual(["green 1", "tea 1"]);
    expect((await store.readSend(alice, "m"))?.taskId).toBe(await store.taskNamed(alice, "order"));
  });

  it("an idempotent send is taken over at its named task, whatever was looked up before", async () => {
    const never = new Promise<never>(() => {});
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const started: string[] = [];
    const agent: Agent = async function* ({ text, task }) {
      started.push(text);
      yield task === undefined ? inputRequired("?") : completed();
    };
    const gate = Promise.withResolvers<void>();
    const beginSend: TaskStore["beginSend"] = (send) => gate.promise.then(() => store.beginSend(send));
    await using slow = startHandler({ clock, store: withMember(store, "beginSend", beginSend), agent });
    const again = slow.send("tea", order, once);
    await settle();
    await using served = startHandler({ clock, store, agent });
    await served.send("green", { taskId: "order", messageId: "n" }, once);
    await settle();
    const goneClock = createVirtualClock();
    const hanging = startHandler({ clock: goneClock, store: withMember(store, "append", () => never), agent });
    void hanging.send("tea", order, once).catch(() => {});
    await settle();
    expect((await store.readSend(alice, "m"))?.taskId).toBe(await store.taskNamed(alice, "order"));
    gate.resolve();
    await settle();
    await clock.advance(60_000);
    const task = taskOf(await again);
    expect([task.id, stateOf(task)]).toEqual(["order", "COMPLETED"]);
    expect(started).toEqual(["green", "tea"]);
  });
});
