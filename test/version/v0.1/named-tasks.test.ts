import { describe, expect, it } from "vitest";
import type { Agent, Turn } from "../../../src/core/agent.js";
import type { TaskStore } from "../../../src/core/ports.js";
import { A2AError } from "../../../src/protocol/errors.js";
import { artifact, completed, inputRequired, reply, working } from "../../../src/protocol/events.js";
import type { StreamResponse, Task } from "../../../src/protocol/model.js";
import { encodeOnce } from "../../../src/version/encode-once.js";
import { contextOf, startHandler, type TestHandler } from "../../support/handler.js";
import { itemsOf } from "../../support/items.js";
import { errorOf, historyOf, linesOf, openStream, requestOf, say, stateOf, taskOf } from "../../support/say.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

const alice = { agent: "", tenant: "", owner: "alice" };
const named = { namesTasks: true, version: "an old one" };
const bob = { ...named, principal: { owner: "bob" } };

/** Asks once and completes with the answer. */
const clerk: Agent = async function* ({ task, text }: Turn) {
  if (task === undefined) {
    yield working("looking");
    yield artifact("a form", { artifactId: "form" });
    yield inputRequired(`${text}?`);
    return;
  }
  yield completed(`${text}!`);
};

/** Returns the store with `create` replaced. */
function withCreate(store: TaskStore, create: TaskStore["create"]): TaskStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = name === "create" ? create : Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

/** Returns our id for a named task of alice's. */
async function idOf(store: TaskStore, name: string): Promise<string> {
  const id = await store.taskNamed(alice, name);
  if (id === undefined) throw new Error(`no task is named ${name}`);
  return id;
}

/** Returns every task id in a reply. */
function idsIn(task: Task): string[] {
  const messages = [...task.history, ...(task.status?.message === undefined ? [] : [task.status.message])];
  return [...new Set([task.id, ...messages.map(({ taskId }) => taskId)])];
}

function idIn({ payload }: StreamResponse): string {
  if (payload.case === "task") return idsIn(payload.value).join();
  if (payload.case === "statusUpdate") {
    const { taskId, status } = payload.value;
    return [...new Set([taskId, status?.message?.taskId ?? taskId])].join();
  }
  return payload.value?.taskId ?? "";
}

describe("a task that its caller has named", () => {
  it("a named task is created by the first send with the name, and its replies carry only the name", async () => {
    await using served = startHandler({ agent: clerk });
    const first = taskOf(await served.send("tea", { taskId: "order-1" }, named));
    expect([stateOf(first), idsIn(first)]).toEqual(["INPUT_REQUIRED", ["order-1"]]);
    const last = taskOf(await served.send("green", { taskId: "order-1" }, named));
    expect([stateOf(last), idsIn(last)]).toEqual(["COMPLETED", ["order-1"]]);
    expect(historyOf(last)).toEqual(["user: tea", "agent: looking", "agent: tea?", "user: green"]);
    expect(idsIn(await served.get("order-1", named))).toEqual(["order-1"]);
  });

  it("a named task is another task for another owner or in another tenant, under the same name", async () => {
    await using served = startHandler({ agent: clerk });
    const elsewhere = { ...named, principal: { owner: "alice", tenant: "elsewhere" } };
    for (const caller of [named, bob, elsewhere]) await served.send("tea", { taskId: "order" }, caller);
    const scopes = [alice, { agent: "", tenant: "", owner: "bob" }, { agent: "", tenant: "elsewhere", owner: "alice" }];
    const ids = await Promise.all(scopes.map((scope) => served.store.taskNamed(scope, "order")));
    expect(new Set(ids).size).toBe(3);
    await served.send("no more", { taskId: "order" }, bob);
    expect(stateOf(await served.get("order", bob))).toBe("COMPLETED");
    for (const caller of [named, elsewhere]) {
      expect(stateOf(await served.get("order", caller))).toBe("INPUT_REQUIRED");
    }
  });

  it("a named task is seen by its id, without the name, by callers of the same owner who name nothing", async () => {
    await using served = startHandler({ agent: clerk });
    await served.send("tea", { taskId: "order" }, named);
    const id = await idOf(served.store, "order");
    expect(id).not.toBe("order");
    expect(idsIn(await served.get(id))).toEqual([id]);
    const { tasks } = await served.operations.listTasks(requestOf("listTasks", { historyLength: 9 }), contextOf());
    expect(tasks.map(idsIn)).toEqual([[id]]);
    expect(await errorOf(served.get("order"))).toMatchObject({ code: "taskNotFound", metadata: { taskId: "order" } });
    const ended = taskOf(await served.send("green", { taskId: id }));
    expect([stateOf(ended), idsIn(ended)]).toEqual(["COMPLETED", [id]]);
    expect(stateOf(await served.get("order", named))).toBe("COMPLETED");
  });

  it("a named task is also found by its id by callers who name tasks, and so is a task without a name", async () => {
    await using served = startHandler({ agent: clerk });
    const { id } = taskOf(await served.send("tea"));
    expect(idsIn(await served.get(id, named))).toEqual([id]);
    expect(idsIn(taskOf(await served.send("green", { taskId: id }, named)))).toEqual([id]);
    expect(await served.store.taskNamed(alice, id)).toBeUndefined();
    await served.send("tea", { taskId: "order" }, named);
    const taskId = await idOf(served.store, "order");
    expect(idsIn(await served.get(taskId, named))).toEqual([taskId]);
  });

  it("a named task is not found by another owner, neither by name nor by id", async () => {
    await using served = startHandler({ agent: clerk });
    await served.send("tea", { taskId: "order" }, named);
    for (const id of ["order", await idOf(served.store, "order")]) {
      const notFound = { code: "taskNotFound", metadata: { taskId: id } };
      expect(await errorOf(served.get(id, bob))).toMatchObject(notFound);
      expect(await errorOf(served.cancel(id, bob))).toMatchObject(notFound);
      expect(await errorOf(served.subscribe(id, bob))).toMatchObject(notFound);
      expect(taskOf(await served.send("mine", { taskId: id }, bob)).id).toBe(id);
    }
    expect(historyOf(await served.get("order", named))).toEqual(["user: tea", "agent: looking"]);
  });

  it("a named task appears under its name in errors about it", async () => {
    await using served = startHandler({ agent: clerk });
    await served.send("tea", { taskId: "order" }, named);
    const metadata = { taskId: "order" };
    await served.cancel("order", named);
    expect(await errorOf(served.cancel("order", named))).toMatchObject({ code: "taskNotCancelable", metadata });
    expect(await errorOf(served.send("more", { taskId: "order" }, named))).toMatchObject({
      code: "unsupportedOperation",
      metadata,
    });
    const streamed = await errorOf(served.stream("more", { taskId: "order" }, named));
    expect(streamed).toMatchObject({ code: "unsupportedOperation", metadata });
    expect(streamed).toBeInstanceOf(A2AError);
    expect(await errorOf(served.subscribe("order", named))).toMatchObject({ code: "unsupportedOperation", metadata });
    expect(await errorOf(served.get("other", named))).toMatchObject({
      code: "taskNotFound",
      metadata: { taskId: "other" },
    });
  });

  it("a named task is canceled by its name", async () => {
    await using served = startHandler({ agent: clerk });
    await served.send("tea", { taskId: "order" }, named);
    const canceled = await served.cancel("order", named);
    expect([stateOf(canceled), idsIn(canceled)]).toEqual(["CANCELED", ["order"]]);
  });

  it("a named task keeps its name from an agent that answers with a reply: the reply completes it", async () => {
    await using served = startHandler({ agent: async ({ text }) => reply(`${text}!`) });
    const task = taskOf(await served.send("tea", { taskId: "order" }, named));
    expect([stateOf(task), idsIn(task)]).toEqual(["COMPLETED", ["order"]]);
    expect(await linesOf(served.stream("tea", { taskId: "other" }, named))).toEqual([
      "task SUBMITTED",
      "status COMPLETED",
    ]);
    expect(stateOf(await served.get("other", named))).toBe("COMPLETED");
  });

  it("a named task is there for its agent under our id", async () => {
    const taskIds: string[] = [];
    const agent: Agent = async ({ taskId, message }) => {
      taskIds.push(taskId, message.taskId);
      return completed();
    };
    await using served = startHandler({ agent });
    await served.send("tea", { taskId: "order" }, named);
    const id = await idOf(served.store, "order");
    expect(taskIds.filter((each) => each !== "")).toEqual([id]);
  });

  it("a named task is refused to a call that names none, and a send without a name makes one with an id", async () => {
    await using served = startHandler({ agent: clerk });
    const task = taskOf(await served.send("tea", {}, named));
    expect(idsIn(await served.get(task.id))).toEqual([task.id]);
    expect(await errorOf(served.get("", named))).toMatchObject({ code: "taskNotFound" });
  });
});

describe("the stream of a named task", () => {
  it("the stream of a named task carries the name in all of its events", async () => {
    await using served = startHandler({ agent: clerk });
    const items = await itemsOf(served.stream("tea", { taskId: "order" }, named));
    expect(items.map(({ response }) => idIn(response))).toEqual(["order", "order", "order", "order"]);
    const more = await itemsOf(served.stream("green", { taskId: "order" }, named));
    expect(more.map(({ response }) => idIn(response))).toEqual(["order", "order"]);
  });

  it("the stream of a named task gives readers by name one form, and other readers the stored one", async () => {
    const gate = Promise.withResolvers<void>();
    const agent: Agent = async function* () {
      yield working();
      await gate.promise;
      yield artifact("a form", { artifactId: "form" });
    };
    await using served = startHandler({ agent });
    const first = await openStream(served.stream("tea", { taskId: "order" }, named));
    await settle();
    const id = await idOf(served.store, "order");
    const others = await Promise.all(
      [served.subscribe("order", named), served.subscribe("order", named), served.subscribe(id)].map(openStream),
    );
    await settle();
    gate.resolve();
    const next = async ({ iterator }: Awaited<ReturnType<typeof openStream>>) => (await iterator.next()).value;
    // The first stream is one status behind the others.
    await next(first);
    const [one, two, three, plain] = await Promise.all([first, ...others].map(next));
    expect(one?.response.payload).toMatchObject({ case: "artifactUpdate", value: { taskId: "order" } });
    expect(two).toBe(one);
    expect(three).toBe(one);
    expect(plain?.response.payload).toMatchObject({ case: "artifactUpdate", value: { taskId: id } });
    for (const { iterator } of [first, ...others]) await iterator.return?.();
  });

  it("the stream of a named task is written with the name, though it was written with the id before", async () => {
    const gate = Promise.withResolvers<void>();
    const agent: Agent = async function* () {
      yield working();
      await gate.promise;
      yield artifact("a form", { artifactId: "form" });
    };
    const write = encodeOnce(idIn);
    await using served = startHandler({ agent });
    await openStream(served.stream("tea", { taskId: "order" }, named));
    await settle();
    const id = await idOf(served.store, "order");
    const plain = await openStream(served.subscribe(id));
    const byName = await openStream(served.subscribe("order", named));
    gate.resolve();
    const texts = [];
    for (const { iterator } of [plain, byName]) {
      const { value } = await iterator.next();
      texts.push(value === undefined ? "" : write(value));
      await iterator.return?.();
    }
    expect(texts).toEqual([id, "order"]);
  });

  it("the stream of a named task resumes after its own event ids, and starts again after others", async () => {
    await using served = startHandler({ agent: clerk });
    const [, ...behind] = await itemsOf(served.stream("tea", { taskId: "order" }, named));
    const after = behind[0]?.id;
    const again = await itemsOf(served.stream("again", { taskId: "order" }, { ...named, after }));
    expect(again).toEqual(behind.slice(1));
    const lines = await linesOf(served.stream("cake", { taskId: "other" }, { ...named, after }));
    expect(lines[0]).toBe("task SUBMITTED");
    expect(historyOf(await served.get("order", named))).toEqual(["user: tea", "agent: looking"]);
    expect(historyOf(await served.get("other", named))).toEqual(["user: cake", "agent: looking"]);
  });

  it("the stream of a named task ends at once when it is left, also while it is being opened", async () => {
    await using served = startHandler({
      agent: async function* ({ signal }) {
        yield working();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    });
    const left = served.stream("tea", { taskId: "order" }, named)[Symbol.asyncIterator]();
    const pending = left.next();
    await left.return?.();
    expect(await pending).toEqual({ done: true, value: undefined });
    await settle();
    const waiting = (await openStream(served.subscribe("order", named))).iterator;
    const next = waiting.next();
    await waiting.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(await waiting.next()).toEqual({ done: true, value: undefined });
  });
});

describe("two sends with one new name", () => {
  const startedBy = (started: string[]): Agent =>
    async function* (turn) {
      started.push(turn.text);
      yield* clerk(turn) as AsyncGenerator<never>;
    };

  /** Two handlers of one store. */
  function two(started: string[]): [TestHandler, TestHandler, TaskStore] {
    const clock = createVirtualClock();
    const here = startHandler({ agent: startedBy(started), clock });
    return [here, startHandler({ agent: startedBy(started), clock, store: here.store }), here.store];
  }

  it.each(["one handler", "two handlers"])(
    "two sends with one new name at the same time make one task, and each starts the agent once, in %s",
    async (where) => {
      const started: string[] = [];
      const [here, there, store] = two(started);
      await using _ = here;
      await using __ = there;
      const other = where === "one handler" ? here : there;
      const answers = Promise.all([
        here.send("tea", { taskId: "order" }, named),
        other.send("green", { taskId: "order" }, named),
      ]);
      await settle();
      await here.clock.advance(1000);
      const tasks = (await answers).map(taskOf);
      expect(tasks.map(({ id }) => id)).toEqual(["order", "order"]);
      expect((await store.list(alice, { limit: 10 })).total).toBe(1);
      expect([started.length, new Set(started)]).toEqual([2, new Set(["green", "tea"])]);
      const { history } = await here.get("order", named);
      expect(history.filter(({ role }) => role === 1).length).toBe(2);
    },
  );

  it("two sends with one new name at the same time make one task when both stream", async () => {
    const started: string[] = [];
    const [here, there, store] = two(started);
    await using _ = here;
    await using __ = there;
    const streams = Promise.all(
      [here, there].map(async (each, index) => itemsOf(each.stream(`say ${index}`, { taskId: "order" }, named))),
    );
    await settle();
    await here.clock.advance(1000);
    for (const items of await streams) {
      expect([...new Set(items.map(({ response }) => idIn(response)))]).toEqual(["order"]);
    }
    expect((await store.list(alice, { limit: 10 })).total).toBe(1);
    expect([started.length, new Set(started)]).toEqual([2, new Set(["say 0", "say 1"])]);
  });

  it("two sends with one new name are not taken for one another by different owners", async () => {
    const [here, there, store] = two([]);
    await using _ = here;
    await using __ = there;
    await Promise.all([here.send("tea", { taskId: "order" }, named), there.send("green", { taskId: "order" }, bob)]);
    expect((await store.list(alice, { limit: 10 })).total).toBe(1);
    expect((await store.list({ agent: "", tenant: "", owner: "bob" }, { limit: 10 })).total).toBe(1);
  });
});

describe("the name of a task that cannot be made", () => {
  it("the name of a task that cannot be made stays free when the store is full", async () => {
    await using served = startHandler({ agent: clerk });
    const { store } = served;
    const refuse = () => Promise.reject(new A2AError("resourceExhausted", "no room"));
    const started: string[] = [];
    const agent: Agent = async ({ text }) => {
      started.push(text);
      return completed();
    };
    await using full = startHandler({ agent, store: withCreate(store, refuse) });
    expect(await errorOf(full.send("tea", { taskId: "order" }, named))).toMatchObject({ code: "resourceExhausted" });
    expect(started).toEqual([]);
    expect(await served.handler.taskNames.find({ owner: "alice" }, "order")).toBeUndefined();
    await served.send("tea", { taskId: "order" }, named);
    expect(await served.handler.taskNames.find({ owner: "alice" }, "order")).toBeDefined();
    expect(await served.handler.taskNames.find({ owner: "bob" }, "order")).toBeUndefined();
  });
});

describe("the request of a named call", () => {
  it("the request of a named call is left as it came", async () => {
    await using served = startHandler({ agent: clerk });
    const request = say("tea", { taskId: "order" });
    const before = structuredClone(request);
    await served.namedOperations.sendMessage(request, contextOf(named));
    await served.namedOperations.sendMessage(request, contextOf(named));
    expect(request).toEqual(before);
  });
});
