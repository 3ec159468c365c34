import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import type { TaskStore } from "../../../src/core/ports.js";
import { inputRequired } from "../../../src/protocol/events.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { startHandler, type TestHandler } from "../../support/handler.js";
import { historyOf, openStream, stateOf, taskOf } from "../../support/say.js";
import { createVirtualClock, settle, turnUntil, type VirtualClock } from "../../support/virtual-clock.js";

const forEver = new Promise<never>(() => {});

/** An agent that asks a question and whose first process dies before its turn ends. */
function asking() {
  const turns: string[] = [];
  const agent: Agent = async function* ({ text, cause, attempt }) {
    turns.push(`${cause} ${attempt} ${text}`);
    if (text !== "go") return;
    yield inputRequired("which one?");
    await forEver;
  };
  return { agent, turns };
}

/** A task that waits for its caller, held by a dead process, and another process on its store. */
async function left() {
  const clock = createVirtualClock();
  const store = memoryTaskStore({ clock });
  const { agent, turns } = asking();
  let gone = false;
  const first = startHandler({ agent, clock, store: onlyUntil(store, () => gone) });
  const stream = await openStream(first.stream("go"));
  await settle();
  const taskId = taskOf(stream.firstItem.response).id;
  gone = true;
  return { clock, store, turns, taskId, second: startHandler({ agent, clock, store }) };
}

/** Advances the clock until a call is answered. */
async function done(clock: VirtualClock, call: Promise<unknown>): Promise<void> {
  await turnUntil(
    clock,
    call.then(() => {}),
  );
}

function onlyUntil(store: TaskStore, isOver: () => boolean): TaskStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: readonly unknown[]) => (isOver() ? forEver : Reflect.apply(member, target, args));
    },
  });
}

describe("a task that waits for input when its process stops", () => {
  it("a task that waits for input when its process stops stays without a holder until the next message", async () => {
    const { clock, store, turns, taskId, second } = await left();
    await clock.advance(20_000);
    expect(await store.head({ agent: "", tenant: "", owner: "alice" }, taskId)).toMatchObject({ holder: "", turn: 1 });
    expect(stateOf(await second.get(taskId))).toBe("INPUT_REQUIRED");
    await done(clock, second.send("this one", { taskId }));
    expect(turns).toEqual(["message 1 go", "message 1 this one"]);
    expect(stateOf(await second.get(taskId))).toBe("COMPLETED");
    await turnUntil(clock, second.handler.close());
  });

  it("a waiting task continues with a message sent before its process was known to be dead", async () => {
    const { clock, turns, taskId, second } = await left();
    const answer = second.send("this one", { taskId });
    await settle();
    expect(turns).toEqual(["message 1 go"]);
    await done(clock, answer);
    expect(turns).toEqual(["message 1 go", "message 1 this one"]);
    const task = await second.get(taskId);
    expect([stateOf(task), ...historyOf(task)]).toEqual([
      "COMPLETED",
      "user: go",
      "agent: which one?",
      "user: this one",
    ]);
    await turnUntil(clock, second.handler.close());
  });

  it("a waiting task is canceled by a cancel sent before its process was known to be dead", async () => {
    const { clock, taskId, second } = await left();
    await done(clock, second.cancel(taskId));
    await clock.advance(20_000);
    expect(stateOf(await second.get(taskId))).toBe("CANCELED");
    await turnUntil(clock, second.handler.close());
  });
});

describe("a handler that drains", () => {
  const follow = async (shared: boolean): Promise<{ followed: Promise<unknown>; served: TestHandler }> => {
    const clock = createVirtualClock();
    const store = Object.assign(memoryTaskStore({ clock }), { shared });
    const agent: Agent = async function* () {
      yield inputRequired("which one?");
    };
    const served = startHandler({ agent, clock, store });
    const stream = await openStream(served.stream("go"));
    await settle();
    const subscription = await openStream(served.subscribe(taskOf(stream.firstItem.response).id));
    return { followed: subscription.readRest(), served };
  };

  it("a handler that drains refuses new subscriptions, so that readers try another process", async () => {
    const clock = createVirtualClock();
    const store = Object.assign(memoryTaskStore({ clock }), { shared: true });
    const served = startHandler({ agent: async () => inputRequired("which one?"), clock, store });
    const stream = await openStream(served.stream("go"));
    const first = served.subscribe(taskOf(stream.firstItem.response).id)[Symbol.asyncIterator]().next();
    const drained = served.handler.drain(0);
    await expect(first).rejects.toMatchObject({ code: "unavailable", retryAfterMs: 1000 });
    await turnUntil(clock, drained);
    await turnUntil(clock, served.handler.close());
  });

  it("a drain ends subscriptions at once if other processes share the store, else keeps them open", async () => {
    for (const shared of [true, false]) {
      const { followed, served } = await follow(shared);
      let ended = false;
      void followed.then(() => (ended = true));
      await turnUntil(served.clock, served.handler.drain(0));
      await settle();
      expect(ended).toBe(shared);
      await turnUntil(served.clock, served.handler.close());
      await followed;
    }
  });
});
