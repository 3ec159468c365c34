import { describe, expect, it } from "vitest";
import type { TaskStore } from "../../src/core/ports.js";
import type { Task } from "../../src/protocol/model.js";
import type { StreamItem } from "../../src/protocol/operations.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import type { Version } from "../../src/version/codec.js";
import { v1 } from "../../src/version/v1.0/v1.js";
import { stateOf, textIn } from "../support/say.js";
import { settle } from "../support/virtual-clock.js";
import { webhook } from "./receiver.js";
import { chunk, replaceMember, scene, snapshotIn, status } from "./scene.js";

/** A version whose webhooks get whole tasks in its own form. */
const old: Version = {
  ...v1,
  name: "0.0",
  push: {
    mediaType: "application/old+json",
    tokenHeaders: ["X-A2A-Notification-Token"],
    delivers: "task",
    write: ({ response }) => JSON.stringify(saidOf(response)),
  },
};

interface Said {
  readonly id: string;
  readonly state: string;
  readonly artifacts: readonly string[];
}

function saidOf({ payload }: StreamItem["response"]): Said {
  if (payload.case !== "task") throw new TypeError(`a webhook of tasks was told ${payload.case}`);
  const task: Task = payload.value;
  const artifacts = task.artifacts.map(({ artifactId, parts }) => `${artifactId}=${textIn(parts)}`);
  return { id: task.id, state: stateOf(task), artifacts };
}

const versions = [v1, old];
const asOld = { version: "0.0" };

describe("a webhook registered in a version that delivers whole tasks", () => {
  // Requirements: V03-PUSH-8
  it("a webhook of an older version gets the whole task, as it was then, whenever others get events", async () => {
    await using hook = await webhook();
    await using other = await webhook();
    await using on = scene({ versions });
    const task = await on.task();
    await task.register("p", { url: hook.url }, asOld);
    await task.register("q", { url: other.url });
    await task.write([status("WORKING"), chunk("a=1"), chunk("a+2")]);
    await task.write([chunk("a+3!"), chunk("b=whole"), status("INPUT_REQUIRED")]);
    await task.write([status("COMPLETED")]);
    await hook.untilReceived(4);
    await on.push.close();
    const { id } = task;
    expect(hook.calls.map(({ text }) => JSON.parse(text))).toEqual([
      { id, state: "WORKING", artifacts: [] },
      { id, state: "WORKING", artifacts: ["a=123"] },
      // The artifact and the status after it are due together, and make one task.
      { id, state: "INPUT_REQUIRED", artifacts: ["a=123", "b=whole"] },
      { id, state: "COMPLETED", artifacts: ["a=123", "b=whole"] },
    ]);
    expect(other.labels).toEqual(["WORKING", "a=123!", "b=whole", "INPUT_REQUIRED", "COMPLETED"]);
    expect(await task.owed()).toEqual([]);
    expect(on.logs).toEqual([]);
  });

  it("a webhook of an older version gets the task at each event when every event is requested", async () => {
    await using hook = await webhook();
    await using on = scene({ versions, events: "all" });
    const task = await on.task();
    await task.write([status("WORKING"), chunk("a=1")]);
    await task.register("p", { url: hook.url }, asOld);
    await task.write([chunk("a+2"), chunk("a+3!"), status("COMPLETED")]);
    await on.push.close();
    const payloads: Said[] = hook.calls.map(({ text }) => JSON.parse(text));
    expect(payloads.map(({ state, artifacts }) => `${state} ${artifacts}`)).toEqual([
      "WORKING a=12",
      "WORKING a=123",
      "COMPLETED a=123",
    ]);
  });

  it("a webhook of an older version gets the task as it was, from a snapshot or from the log", async () => {
    await using hook = await webhook();
    await using on = scene({ versions });
    const task = await on.task();
    await task.register("p", { url: hook.url }, asOld);
    const gate = Promise.withResolvers<number>();
    hook.answer = (_, count) => (count === 1 ? gate.promise : 204);
    // A snapshot that differs from the folded log shows where a task was read from.
    await task.write([status("WORKING"), chunk("a=1!")], { snapshot: snapshotIn("AUTH_REQUIRED") });
    await hook.untilReceived(1);
    gate.resolve(204);
    await hook.untilReceived(2);
    await settle();
    await task.write([chunk("b=2!")]);
    await hook.untilReceived(3);
    await task.write([status("COMPLETED")]);
    await on.push.close();
    const payloads: Said[] = hook.calls.map(({ text }) => JSON.parse(text));
    expect(payloads.map(({ state, artifacts }) => `${state} ${artifacts}`)).toEqual([
      "WORKING ",
      "WORKING a=1",
      "AUTH_REQUIRED b=2",
      "COMPLETED b=2",
    ]);
  });

  it("a webhook of an older version gets the current task when the log no longer reaches back", async () => {
    await using hook = await webhook();
    await using on = scene({ versions });
    const task = await on.task();
    const config = await task.register("p", { url: hook.url }, { ...asOld, taskName: "order" });
    await task.delete("p");
    await task.write([status("WORKING"), status("COMPLETED")], { snapshot: snapshotIn("COMPLETED") });
    await on.clock.advance(10);
    await on.store.set(config, 10);
    on.push.service.added(config);
    await on.push.close();
    expect(hook.calls.map(({ text }) => JSON.parse(text))).toEqual([
      { id: "order", state: "COMPLETED", artifacts: [] },
    ]);
  });

  it("a webhook of an older version gets the current task when the log is pruned during delivery", async () => {
    const store = memoryTaskStore();
    let base = 0;
    const recordsAfter: TaskStore["recordsAfter"] = async (key, after, limit) =>
      after < base ? "compacted" : store.recordsAfter(key, after, limit);
    await using hook = await webhook();
    const gate = Promise.withResolvers<number>();
    hook.answer = (_, count) => (count === 1 ? gate.promise : 204);
    await using on = scene({ versions, tasks: replaceMember(store, "recordsAfter", recordsAfter) });
    const task = await on.task();
    await task.register("p", { url: hook.url }, asOld);
    await task.write([status("WORKING"), chunk("a=1!"), status("AUTH_REQUIRED")], {
      snapshot: snapshotIn("AUTH_REQUIRED"),
    });
    await hook.untilReceived(1);
    base = 4;
    gate.resolve(204);
    await hook.untilReceived(2);
    await task.write([status("COMPLETED")]);
    await on.push.close();
    const payloads: Said[] = hook.calls.map(({ text }) => JSON.parse(text));
    expect(payloads.map(({ state }) => state)).toEqual(["WORKING", "AUTH_REQUIRED", "COMPLETED"]);
  });

  // Requirements: V03-PUSH-4
  it("a webhook is called with the media type and the token headers of its version", async () => {
    await using hook = await webhook();
    await using on = scene({ versions });
    const task = await on.task();
    await task.register("p", { url: `${hook.url}/old`, token: "t" }, asOld);
    await task.register("q", { url: `${hook.url}/new`, token: "t" });
    await task.write([status("COMPLETED")]);
    await on.push.close();
    const headersAt = (path: string) => hook.calls.find((call) => call.path === path)?.headers;
    expect(headersAt("/hook/old")).toMatchObject({
      "content-type": "application/old+json",
      "x-a2a-notification-token": "t",
    });
    expect(headersAt("/hook/old")).not.toHaveProperty("a2a-notification-token");
    expect(headersAt("/hook/new")).toMatchObject({
      "content-type": "application/a2a+json",
      "x-a2a-notification-token": "t",
      "a2a-notification-token": "t",
    });
  });

  it("a webhook of an older version gets the task under its caller's name for it", async () => {
    await using hook = await webhook();
    await using on = scene({ versions });
    const task = await on.task();
    await task.register("p", { url: `${hook.url}/old` }, { ...asOld, taskName: "order" });
    await task.register("q", { url: `${hook.url}/new` }, { taskName: "order" });
    await task.write([chunk("a=1!"), status("COMPLETED")]);
    await on.push.close();
    const payloads = hook.calls.map(({ path, text }) => [path, JSON.parse(text)]);
    const ids = payloads.map(([path, body]) =>
      path === "/hook/old" ? body.id : (body.artifactUpdate ?? body.statusUpdate).taskId,
    );
    expect(ids).toEqual(["order", "order", "order", "order"]);
    const page = (await on.tasks.recordsAfter(task.key, 0, 10)) as { readonly records: readonly unknown[] };
    expect(JSON.stringify(page.records, (_, value) => (typeof value === "bigint" ? `${value}` : value))).not.toContain(
      "order",
    );
  });

  // Requirements: IOP-7
  it("a webhook is called in the version of the latest configuration, whichever caller replaced it", async () => {
    await using hook = await webhook();
    await using on = scene({ versions });
    const task = await on.task();
    const config = await task.register("p", { url: hook.url });
    await task.write([status("WORKING")]);
    await hook.untilReceived(1);
    await task.register("p", { url: hook.url }, asOld);
    await task.write([status("INPUT_REQUIRED")]);
    await hook.untilReceived(2);
    // Done by another process, so this one sees it when it next reads the configuration.
    await on.store.set({ ...config, cursor: 3 }, 10);
    await task.write([status("WORKING")]);
    await hook.untilReceived(3);
    await task.write([status("COMPLETED")]);
    await on.push.close();
    const bodies = hook.calls.map(({ text }) => Object.keys(JSON.parse(text))[0]);
    expect(bodies).toEqual(["statusUpdate", "id", "id", "statusUpdate"]);
  });

  it("a webhook is called in the newest version when its own is no longer served", async () => {
    await using hook = await webhook();
    await using on = scene();
    const task = await on.task();
    await task.register("p", { url: hook.url }, asOld);
    await task.write([status("COMPLETED")]);
    await on.push.close();
    expect(hook.labels).toEqual(["COMPLETED"]);
  });
});
