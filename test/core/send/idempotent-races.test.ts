import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import type { TaskStore } from "../../../src/core/ports.js";
import { A2AError } from "../../../src/protocol/errors.js";
import { artifact, completed, reply, working } from "../../../src/protocol/events.js";
import { idempotentSendExtension } from "../../../src/protocol/extensions.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { beginTask, contextOf, startHandler } from "../../support/handler.js";
import { errorOf, historyOf, requestOf, taskOf, textIn } from "../../support/say.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

const once = { extensions: [idempotentSendExtension] };
const anHour = { taskAfterMs: 3_600_000 };

/** The same store with another `put`. */
function withPut(store: TaskStore, put: TaskStore["put"]): TaskStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = name === "put" ? put : Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

/** A turn that takes one message when allowed to. */
function receiver() {
  const gate = Promise.withResolvers<void>();
  const agent: Agent = async function* ({ receive }) {
    yield working();
    await gate.promise;
    yield artifact(textIn((await receive()).parts), { artifactId: "a" });
  };
  return { agent, gate };
}

describe("two tries of a send", () => {
  it("two tries of a send put the message into the inbox once, even if the first stalls before it does", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const take = Promise.withResolvers<void>();
    const agent: Agent = async function* ({ receive }) {
      yield working();
      yield artifact(textIn((await receive()).parts), { artifactId: "a" });
      await take.promise;
    };
    await using holder = await beginTask({ agent, clock, store });
    const held = Promise.withResolvers<void>();
    const slow = withPut(store, (...entry) => held.promise.then(() => store.put(...entry)));
    await using deadHandler = startHandler({ agent, clock: createVirtualClock(), store: slow });
    const message = { taskId: holder.taskId, messageId: "m" };
    const first = deadHandler.send("more", message, once);
    await settle();
    const second = holder.send("more", message, once);
    await clock.advance(17_000);
    expect(historyOf(await holder.get(holder.taskId))).toEqual(["user: go", "user: more"]);
    held.resolve();
    await settle();
    const head = await store.head({ agent: "", tenant: "", owner: "alice" }, holder.taskId);
    expect([(await store.inbox(head?.key ?? 0)).entries.length, head?.inboxPut]).toEqual([0, 1]);
    take.resolve();
    await clock.advance(1000);
    await deadHandler.clock.advance(1000);
    for (const answer of [first, second]) {
      expect(historyOf(taskOf(await answer))).toEqual(["user: go", "user: more"]);
    }
  });

  it("two tries of a send are answered after the store recovers, even if it failed the first", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const { agent, gate } = receiver();
    let puts = 0;
    const failing = withPut(store, async (...entry) => {
      if (++puts === 1) throw new Error("no store");
      return store.put(...entry);
    });
    await using served = await beginTask({ agent, clock, store: failing });
    const message = { taskId: served.taskId, messageId: "m" };
    expect(await errorOf(served.send("more", message, once))).toMatchObject({ code: "unavailable" });
    const again = served.send("more", message, once);
    gate.resolve();
    await clock.advance(1000);
    expect(historyOf(taskOf(await again))).toEqual(["user: go", "user: more"]);
  });

  it("two tries of a send return the stored outcome when both write at once", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const gate = Promise.withResolvers<void>();
    const agent: Agent = async ({ attempt }) => {
      if (attempt === 1) await gate.promise;
      return completed(`by ${attempt}`);
    };
    await using deadHandler = startHandler({ agent, clock: createVirtualClock(), store, limits: anHour });
    const first = deadHandler.send("x", { messageId: "m" }, once);
    await settle();
    await using other = startHandler({ agent, clock, store });
    const second = other.send("x", { messageId: "m" }, once);
    await clock.advance(17_000);
    gate.resolve();
    for (const answer of [first, second]) expect(textIn(taskOf(await answer).status?.message?.parts)).toBe("by 2");
  });

  it("two tries of a send make one task, even if one of them was refused in between", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const gate = Promise.withResolvers<void>();
    let busy = true;
    const agent: Agent = async ({ attempt }) => {
      if (attempt === 1) {
        await gate.promise;
        return artifact("late");
      }
      if (busy) throw new A2AError("unavailable", "not now");
      return reply("done");
    };
    const limits = anHour;
    await using deadHandler = startHandler({ agent, clock: createVirtualClock(), store, limits });
    const message = { messageId: "m" };
    const first = deadHandler.send("x", message, once);
    await settle();
    await using other = startHandler({ agent, clock, store, limits });
    const refused = errorOf(other.send("x", message, once));
    await clock.advance(17_000);
    expect(await refused).toMatchObject({ message: "not now" });
    busy = false;
    const done = taskOf(await other.send("x", message, once));
    gate.resolve();
    expect(taskOf(await first)).toEqual(done);
    const { tasks } = await other.operations.listTasks(requestOf("listTasks"), contextOf());
    expect(tasks.map(({ id }) => id)).toEqual([done.id]);
  });
});
