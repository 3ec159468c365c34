import { describe, expect, it } from "vitest";
import type { PushStore } from "../../src/core/ports.js";
import { memoryPushStore } from "../../src/store/memory/push-store.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { settle, turnUntil } from "../support/virtual-clock.js";
import { webhook } from "./receiver.js";
import { chunk, type Scene, scene, status } from "./scene.js";

const adoptMs = 3000;

/** A store and one process's access to it, which can be killed: its calls then have no effect and no answer. */
function mortal<S extends object>(own: S) {
  let dead = false;
  const end = new Proxy(own, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: unknown[]): unknown => (dead ? new Promise(() => {}) : member.apply(target, args));
    },
  });
  return {
    own,
    end,
    kill: (): void => {
      dead = true;
    },
  };
}

/** A process that can be killed, on stores that stay. */
function mortalScene() {
  const tasks = mortal(memoryTaskStore({ finishedLogMs: 1 }));
  const store = mortal(memoryPushStore());
  const on = scene({ tasks: tasks.end, store: store.end, instance: "a" });
  return {
    on,
    kill: async (): Promise<void> => {
      tasks.kill();
      store.kill();
      // The effect of its silence once its instance has expired.
      await store.own.release("", "a");
    },
    next: () => on.beside({ tasks: tasks.own, store: store.own, instance: "b", adoptMs }),
    [Symbol.asyncDispose]: () => closed(on, on.push),
  };
}

// Also a push whose store no longer answers.
function closed({ clock }: Scene, push: { close(): Promise<void> }): Promise<void> {
  return turnUntil(clock, push.close());
}

// The stored cursor after one more second.
async function storedAfter({ clock, store }: Scene, key: number): Promise<number | undefined> {
  await clock.advance(1000);
  return (await store.get(key, "p"))?.cursor;
}

const work = [status("WORKING"), chunk("a=1!"), chunk("b=1!"), chunk("c=1!"), status("COMPLETED")];
const delivered = ["WORKING", "a=1!", "b=1!", "c=1!", "COMPLETED"];

describe("orphaned push deliveries", () => {
  it("orphaned push deliveries resume in another process with the events left at shutdown", async () => {
    await using hook = await webhook();
    hook.answer = (_, count) => (count === 2 ? undefined : 204);
    await using on = scene({ instance: "a" });
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await task.write(work);
    await hook.untilReceived(2);
    const other = on.beside({ instance: "b", adoptMs });
    await closed(on, on.push);
    await on.clock.advance(adoptMs);
    await expect.poll(() => hook.labels.at(-1)).toBe("COMPLETED");
    await closed(on, other);
    expect(new Set(hook.labels)).toEqual(new Set(delivered));
    expect(await task.owed()).toEqual([]);
    expect(on.logs).toEqual([]);
  });

  it("orphaned push deliveries are found by a later process as soon as it starts", async () => {
    await using hook = await webhook();
    await using on = scene({ instance: "a" });
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await on.push.close();
    await task.write(work);
    expect(hook.labels).toEqual([]);
    const later = on.beside({ instance: "b" });
    await hook.untilReceived(5);
    await closed(on, later);
    expect(hook.labels).toEqual(delivered);
    expect(await task.owed()).toEqual([]);
  });

  it.each([1, 2, 3, 4, 5])(
    "orphaned push deliveries are at-least-once, even after a kill at attempt %d",
    async (last) => {
      await using scenery = mortalScene();
      const { on, kill, next } = scenery;
      await using hook = await webhook();
      hook.answer = async (_, count) => {
        if (count === last) await kill();
        return 204;
      };
      const task = await on.task();
      await task.register("p", { url: hook.url });
      await task.write(work);
      await hook.untilReceived(last);
      const other = next();
      await hook.untilReceived(last + 5);
      await closed(on, other);
      // Nothing of the cursor had reached the store.
      expect(hook.labels).toEqual([...delivered.slice(0, last), ...delivered]);
    },
  );

  it("orphaned push deliveries are not repeated up to the cursor", async () => {
    await using scenery = mortalScene();
    const { on, kill, next } = scenery;
    await using hook = await webhook();
    hook.answer = async (_, count) => {
      if (count === 4) await kill();
      return 204;
    };
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await task.write(work.slice(0, 2));
    await hook.untilReceived(2);
    await expect.poll(() => storedAfter(on, task.key)).toBe(3);
    await task.write(work.slice(2));
    await hook.untilReceived(4);
    const other = next();
    await hook.untilReceived(7);
    await closed(on, other);
    expect(hook.labels).toEqual([...delivered.slice(0, 4), ...delivered.slice(2)]);
  });

  it("orphaned push deliveries are all claimed in one pass, however many", async () => {
    await using hook = await webhook();
    await using on = scene({ instance: "a" });
    const tasks = [];
    for (let count = 0; count < 250; count += 1) {
      const task = await on.task();
      await task.register("p", { url: hook.url });
      tasks.push(task);
    }
    await closed(on, on.push);
    for (const task of tasks) await task.write([status("COMPLETED")]);
    const other = on.beside({ instance: "b", adoptMs });
    await hook.untilReceived(250);
    await closed(on, other);
    expect(hook.calls.length).toBe(250);
  });
});

describe("push deliveries of a process whose lease expired", () => {
  it("push deliveries of a process whose lease expired end when another process claims them", async () => {
    await using hook = await webhook();
    await using on = scene({ instance: "a" });
    const task = await on.task();
    const registration = await task.register("p", { url: hook.url });
    await task.write([status("WORKING")]);
    await hook.untilReceived(1);
    const adopted = { ...registration, cursor: registration.cursor + 1, holder: "b" };
    await on.store.set(adopted, 10);
    await task.write(work.slice(1));
    await settle();
    await closed(on, on.push);
    expect(hook.labels).toEqual(["WORKING"]);
    expect((await on.store.get(task.key, "p"))?.holder).toBe("b");
    const other = on.beside({ instance: "b" });
    other.service.added(adopted);
    await hook.untilReceived(5);
    await closed(on, other);
    expect(hook.labels).toEqual(delivered);
  });

  it("push deliveries of a process whose lease expired start again when it reclaims them", async () => {
    await using hook = await webhook();
    await using on = scene({ instance: "a", adoptMs });
    const task = await on.task();
    const registration = await task.register("p", { url: hook.url });
    await on.store.set({ ...registration, holder: "b" }, 10);
    await task.write(work.slice(0, 2));
    await settle();
    await on.store.release("", "b");
    await on.clock.advance(adoptMs);
    await hook.untilReceived(2);
    await task.write(work.slice(2));
    await hook.untilReceived(5);
    await on.push.close();
    expect(hook.labels).toEqual(delivered);
  });
});

describe("a push configuration looked up while it is replaced", () => {
  it("a push configuration looked up while it is replaced is delivered even if the lookup misses it", async () => {
    const store = memoryPushStore();
    let answer: (() => void) | undefined;
    const get: PushStore["get"] = async (key, id) => {
      if (answer !== undefined) return store.get(key, id);
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return undefined;
    };
    await using hook = await webhook();
    await using on = scene({ instance: "a", store: { ...store, get } });
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await task.write(work);
    await expect.poll(() => answer).toBeDefined();
    await task.register("p", { url: hook.url });
    answer?.();
    await hook.untilReceived(5);
    expect(hook.labels).toEqual(delivered);
  });
});

describe("the search for orphaned push configurations", () => {
  it("the search for orphaned push configurations ends with the process, even without an answer", async () => {
    let looks = 0;
    const adopt = (): Promise<never> => {
      looks += 1;
      return new Promise(() => {});
    };
    await using on = scene({ instance: "a", adoptMs, store: { ...memoryPushStore(), adopt } });
    await expect.poll(() => looks).toBe(1);
    await on.push.close();
    await on.clock.advance(10 * adoptMs);
    expect(looks).toBe(1);
    expect(on.clock.pending()).toEqual([]);
    expect(on.logs).toEqual([]);
  });

  it("the search for orphaned push configurations continues after a store failure, and logs it once", async () => {
    await using hook = await webhook();
    await using on = scene({ instance: "a" });
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await closed(on, on.push);
    let failures = 3;
    const adopt: PushStore["adopt"] = async (agent, instance, limit) => {
      if (failures-- > 0) throw new Error("no connection");
      return on.store.adopt(agent, instance, limit);
    };
    const other = on.beside({ instance: "b", adoptMs, store: { ...on.store, adopt } });
    await task.write(work);
    for (let look = 1; look <= 3; look += 1) {
      await expect.poll(() => failures).toBe(3 - look);
      await on.clock.advance(adoptMs);
    }
    await hook.untilReceived(5);
    await closed(on, other);
    expect(hook.labels).toEqual(delivered);
    expect(on.logs.filter((line) => line.includes("could not be looked for"))).toHaveLength(1);
  });

  it("the search for orphaned push configurations logs its end when the store does not release them", async () => {
    const store = { ...memoryPushStore(), release: () => Promise.reject(new Error("read-only")) };
    await using on = scene({ instance: "a", store });
    await on.push.close();
    expect(on.logs).toEqual([expect.stringContaining("could not be left to other processes")]);
  });
});
