import { describe, expect, it } from "vitest";
import type { PushStore } from "../../src/core/ports.js";
import { LazyCursor } from "../../src/push/lazy-cursor.js";
import { memoryPushStore } from "../../src/store/memory/push-store.js";
import { createVirtualClock, settle } from "../support/virtual-clock.js";
import { webhook } from "./receiver.js";
import { chunk, scene, status } from "./scene.js";

/** A push store that records the moves of its cursors. */
function noting() {
  const store = memoryPushStore();
  const cursors: number[] = [];
  const advance: PushStore["advance"] = (key, id, cursor) => {
    cursors.push(cursor);
    return store.advance(key, id, cursor);
  };
  return { cursors, store: { ...store, advance } };
}

describe("the cursor of a push configuration", () => {
  it("the cursor of a push configuration is written once for all deliveries within a second", async () => {
    const { cursors, store } = noting();
    await using hook = await webhook();
    await using on = scene({ events: "all", store });
    const task = await on.task();
    await task.register("p", { url: hook.url });
    for (let count = 1; count <= 50; count += 1) {
      await task.write([chunk(`a+${count}`)]);
      await hook.untilReceived(count);
    }
    expect(cursors).toEqual([]);
    await expect
      .poll(async () => {
        await on.clock.advance(1000);
        return (await store.get(task.key, "p"))?.cursor;
      })
      .toBe(51);
    expect(cursors.length).toBeLessThanOrEqual(2);
    await on.clock.advance(5000);
    expect(cursors.at(-1)).toBe(51);
    expect(cursors.length).toBeLessThanOrEqual(2);
  });

  it("the cursor of a push configuration is written when the process closes, for no second delivery", async () => {
    const { cursors, store } = noting();
    await using hook = await webhook();
    await using on = scene({ store, instance: "a" });
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await task.write([status("WORKING"), chunk("a=1!")]);
    await on.push.close();
    expect(cursors).toEqual([3]);
    expect(await store.get(task.key, "p")).toMatchObject({ cursor: 3, holder: "" });
  });

  it("the cursor of a push configuration costs no write for a task that ends within the second", async () => {
    const { cursors, store } = noting();
    await using hook = await webhook();
    await using on = scene({ store });
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await task.write([status("WORKING"), status("COMPLETED")]);
    await hook.untilReceived(2);
    await on.push.close();
    expect(cursors).toEqual([]);
    expect(await task.owed()).toEqual([]);
  });

  it("the cursor of a push configuration delays no delivery when its write fails, and is retried", async () => {
    const { cursors, store } = noting();
    let failing = true;
    const advance: PushStore["advance"] = async (key, id, cursor) => {
      if (failing) throw new Error("read-only");
      return store.advance(key, id, cursor);
    };
    await using hook = await webhook();
    await using on = scene({ store: { ...store, advance } });
    const task = await on.task();
    await task.register("p", { url: hook.url });
    for (const [index, event] of [status("WORKING"), chunk("a=1!"), chunk("b=1!")].entries()) {
      await task.write([event]);
      await hook.untilReceived(index + 1);
      await on.clock.advance(1000);
    }
    const warnings = () => on.logs.filter((line) => line.includes("could not be stored"));
    await expect.poll(warnings).toHaveLength(1);
    await on.clock.advance(3000);
    expect(warnings()).toHaveLength(1);
    failing = false;
    await on.clock.advance(1000);
    expect(cursors).toEqual([4]);
  });
});

describe("a cursor that is written lazily", () => {
  function lazy(write: (cursor: number) => Promise<void>) {
    const clock = createVirtualClock();
    const errors: unknown[] = [];
    return {
      clock,
      errors,
      cursor: new LazyCursor({ clock, cursor: 3, write, onError: (error) => errors.push(error) }),
    };
  }

  it("a lazy cursor writes changes made during a write, one write at a time", async () => {
    const cursors: number[] = [];
    const answers: (() => void)[] = [];
    const { clock, cursor } = lazy((seq) => {
      cursors.push(seq);
      return new Promise((resolve) => answers.push(resolve));
    });
    cursor.move(4);
    await clock.advance(1000);
    cursor.move(6);
    await clock.advance(5000);
    expect(cursors).toEqual([4]);
    answers.shift()?.();
    await settle();
    await clock.advance(1000);
    expect(cursors).toEqual([4, 6]);
    answers.shift()?.();
  });

  it("a lazy cursor writes no stored value again, nothing after its end, and nothing that was dropped", async () => {
    const cursors: number[] = [];
    const write = async (seq: number): Promise<void> => {
      cursors.push(seq);
    };
    const ended = lazy(write);
    ended.cursor.move(3);
    await ended.clock.advance(2000);
    expect(cursors).toEqual([]);
    ended.cursor.move(5);
    await ended.cursor.end();
    ended.cursor.move(7);
    await ended.clock.advance(2000);
    expect(cursors).toEqual([5]);
    const dropped = lazy(write);
    dropped.cursor.move(9);
    dropped.cursor.drop();
    await dropped.cursor.end();
    await dropped.clock.advance(2000);
    expect(cursors).toEqual([5]);
    expect(dropped.clock.pending()).toEqual([]);
  });
});
