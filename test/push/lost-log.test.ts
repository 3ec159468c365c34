import { describe, expect, it } from "vitest";
import type { TaskStore } from "../../src/core/ports.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { webhook } from "./receiver.js";
import { chunk, replaceMember, scene, snapshotIn, status } from "./scene.js";

/** A store whose logs begin after `base`, which can be moved. */
function forgetful() {
  const store = memoryTaskStore();
  const forgets = { base: 0 };
  const recordsAfter: TaskStore["recordsAfter"] = async (key, after, limit) =>
    after < forgets.base ? "compacted" : store.recordsAfter(key, after, limit);
  return Object.assign(forgets, { tasks: replaceMember(store, "recordsAfter", recordsAfter) });
}

describe("a log whose beginning was pruned", () => {
  it("a log whose beginning was pruned is replaced by the task, to which each later chunk adds", async () => {
    const forgets = forgetful();
    await using hook = await webhook();
    await using on = scene({ tasks: forgets.tasks });
    const task = await on.task();
    const config = await task.register("p", { url: hook.url });
    await task.delete("p");
    await task.write([status("WORKING"), chunk("a=1"), chunk("a+2")], { snapshot: snapshotIn("WORKING") });
    await task.write([chunk("a+3"), chunk("a+4!"), status("COMPLETED")]);
    forgets.base = 4;
    await on.store.set(config, 10);
    on.push.service.added(config);
    await on.push.close();
    expect(hook.labels).toEqual(["task WORKING", "a+3", "a+4!", "COMPLETED"]);
    expect(await task.owed()).toEqual([]);
  });

  it("a log that is pruned during delivery resumes after the task", async () => {
    const forgets = forgetful();
    await using hook = await webhook();
    let answer = (_: number): void => {};
    hook.answer = (_, count) => (count > 1 ? 204 : new Promise((resolve) => (answer = resolve)));
    await using on = scene({ tasks: forgets.tasks });
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await task.write([status("WORKING"), chunk("a=1"), chunk("a+2")], { hint: false, snapshot: snapshotIn("WORKING") });
    await task.write([chunk("a+3"), chunk("a+4!"), status("COMPLETED")]);
    await hook.untilReceived(1);
    forgets.base = 4;
    answer(204);
    await on.push.close();
    expect(hook.labels).toEqual(["WORKING", "task WORKING", "a+3", "a+4!", "COMPLETED"]);
  });

  it("a log that is pruned at the end of the task is replaced by the task", async () => {
    await using hook = await webhook();
    await using on = scene();
    const task = await on.task();
    const config = await task.register("p", { url: hook.url });
    await task.delete("p");
    await task.write([status("WORKING"), status("COMPLETED")], { snapshot: snapshotIn("COMPLETED") });
    await on.clock.advance(10);
    await on.store.set(config, 10);
    on.push.service.added(config);
    await hook.untilReceived(1);
    await on.push.close();
    expect(hook.labels).toEqual(["task COMPLETED"]);
    expect(await task.owed()).toEqual([]);
  });

  it("a log whose chunks are pruned before delivery is replaced by the task", async () => {
    await using hook = await webhook();
    let answer = (_: number): void => {};
    hook.answer = (_, count) => (count > 1 ? 204 : new Promise((resolve) => (answer = resolve)));
    await using on = scene();
    const task = await on.task();
    await task.register("p", { url: hook.url });
    const events = [status("WORKING"), chunk("a=1"), chunk("a+2"), status("COMPLETED")];
    await task.write(events, { snapshot: snapshotIn("COMPLETED") });
    await hook.untilReceived(1);
    await on.clock.advance(10);
    answer(204);
    await hook.untilReceived(2);
    await on.push.close();
    expect(hook.labels).toEqual(["WORKING", "task COMPLETED"]);
    expect(await task.owed()).toEqual([]);
  });

  it("a log whose beginning was pruned delivers no events from before the configuration", async () => {
    const forgets = forgetful();
    await using hook = await webhook();
    await using on = scene({ tasks: forgets.tasks });
    const task = await on.task();
    await task.write([status("WORKING"), chunk("a=1!")], { snapshot: snapshotIn("WORKING") });
    forgets.base = 3;
    await task.register("p", { url: hook.url });
    await task.write([status("COMPLETED")]);
    await on.push.close();
    expect(hook.labels).toEqual(["COMPLETED"]);
  });
});
