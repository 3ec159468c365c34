import { describe, expect, it } from "vitest";
import type { TaskStore } from "../../src/core/ports.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { type Answer, webhook } from "./receiver.js";
import { replaceMember, scene, status } from "./scene.js";

const secrets = { token: "t0ken", authentication: { scheme: "Bearer", credentials: "cr3dentials" } };

describe("a webhook that does not take an event", () => {
  // Requirements: V1-PUSH-5
  it.each<[string, Answer]>([
    ["500", 500],
    ["503", 503],
    ["408", 408],
    ["429", 429],
  ])(
    "a webhook that does not take an event is retried after %s with growing delays, and gets the rest in order",
    async (_, answer) => {
      await using hook = await webhook();
      hook.answer = (__, count) => (count < 3 ? answer : 200);
      await using on = scene();
      const task = await on.task();
      await task.register("p", { url: hook.url });
      await task.write([status("WORKING"), status("COMPLETED")]);
      for (const ms of [700, 2800]) {
        await on.timer(ms);
        await on.clock.advance(ms);
      }
      await hook.untilReceived(4);
      await on.push.close();
      expect(hook.labels).toEqual(["WORKING", "WORKING", "WORKING", "COMPLETED"]);
      expect(on.logs).toEqual([]);
    },
  );

  it.each<[string, Answer]>([
    ["400", 400],
    ["404", 404],
    ["410", 410],
    ["401", 401],
    ["304", 304],
  ])("a webhook that does not take an event is not retried after %s, and gets the next event", async (_, answer) => {
    await using hook = await webhook();
    hook.answer = (__, count) => (count === 1 ? answer : 200);
    await using on = scene();
    const task = await on.task();
    await task.register("p", { url: hook.url, ...secrets });
    await task.write([status("WORKING"), status("COMPLETED")]);
    await hook.untilReceived(2);
    await on.push.close();
    expect(hook.labels).toEqual(["WORKING", "COMPLETED"]);
    expect(on.logs).toEqual([expect.stringContaining(`status ${String(answer)}`)]);
  });

  // Requirements: V1-PUSH-18
  it("a webhook cannot redirect to another webhook", async () => {
    await using elsewhere = await webhook();
    await using hook = await webhook();
    hook.answer = () => [307, { Location: elsewhere.url }];
    await using on = scene();
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await task.write([status("COMPLETED")]);
    await hook.untilReceived(1);
    await on.push.close();
    expect(elsewhere.calls).toEqual([]);
    expect(hook.calls.length).toBe(1);
  });

  // Requirements: V1-SEC-14, V1-SEC-18
  it("a webhook that does not take an event is given up after three attempts, without secrets in the log", async () => {
    await using hook = await webhook();
    hook.answer = (_, count) => (count <= 3 ? 502 : 200);
    await using on = scene();
    const task = await on.task();
    await task.register("p", { url: `${hook.url}?key=qu3ry`, ...secrets });
    await task.write([status("WORKING"), status("COMPLETED")]);
    for (const ms of [700, 2800]) {
      await on.timer(ms);
      await on.clock.advance(ms);
    }
    await hook.untilReceived(4);
    await on.push.close();
    expect(hook.labels.slice(2)).toEqual(["WORKING", "COMPLETED"]);
    expect(on.logs.length).toBe(1);
    expect(JSON.parse(on.logs[0] ?? "")).toMatchObject({ taskId: task.id, id: "p", attempts: 3 });
    expect(on.logs[0]).not.toMatch(/t0ken|cr3dentials|qu3ry|thank you/);
  });

  it("a webhook that was down gets the event when it is up again", async () => {
    const closedHook = await webhook();
    await closedHook[Symbol.asyncDispose]();
    await using on = scene();
    const task = await on.task();
    await task.register("p", { url: closedHook.url });
    await task.write([status("WORKING"), status("COMPLETED")]);
    await on.timer(700);
    await using hook = await webhook(closedHook.port);
    await on.clock.advance(700);
    await hook.untilReceived(2);
    expect(hook.labels).toEqual(["WORKING", "COMPLETED"]);
  });

  // Requirements: V1-PUSH-6
  it("a webhook that does not answer times out, and is retried", async () => {
    await using hook = await webhook();
    hook.answer = (_, count) => (count === 1 ? undefined : 200);
    await using on = scene();
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await task.write([status("COMPLETED")]);
    await hook.untilReceived(1);
    await on.clock.advance(15_000);
    await on.timer(700);
    await on.clock.advance(700);
    await hook.untilReceived(2);
    await on.push.close();
    expect(hook.brokenOff()).toBe(1);
  });
});

describe("the address of a webhook", () => {
  // Requirements: V1-PUSH-8, V03-PUSH-6
  it.each([
    ["a private one", ["10.0.0.7"]],
    ["this machine", ["127.0.0.1"]],
    ["a public and a private one", ["193.0.6.139", "::ffff:192.168.0.1"]],
    ["none at all", []],
  ])("the address of a webhook is resolved for each call, and refused when it is %s", async (_, addresses) => {
    await using hook = await webhook();
    await using on = scene({ allow: "public", lookup: async () => addresses });
    const task = await on.task();
    await task.register("p", { url: `http://hooks.example:${hook.port}/hook` });
    await task.write([status("COMPLETED")]);
    await on.push.close();
    expect(hook.calls).toEqual([]);
    expect(on.logs).toEqual([expect.stringContaining("its address is not allowed")]);
  });

  it("the address of a webhook is checked in the connection's own lookup, so DNS rebinding fails", async () => {
    await using hook = await webhook();
    const requests: string[] = [];
    const lookup = async (name: string) => {
      requests.push(name);
      return requests.length === 1 ? ["127.0.0.9"] : ["127.0.0.1"];
    };
    await using on = scene({ allow: ["127.0.0.9"], lookup });
    const task = await on.task();
    await task.register("p", { url: `http://hooks.example:${hook.port}/hook` });
    await task.write([status("COMPLETED")]);
    // The first address has no listener, and the second is forbidden.
    await on.timer(700);
    expect(requests).toHaveLength(1);
    await on.clock.advance(700);
    await on.push.close();
    expect(on.logs).toEqual([expect.stringContaining("its address is not allowed")]);
    expect([requests, hook.calls]).toEqual([["hooks.example", "hooks.example"], []]);
  });

  it("the address of a webhook is retried when its name does not resolve", async () => {
    await using on = scene({ lookup: () => Promise.reject(Object.assign(new Error("x"), { code: "ENOTFOUND" })) });
    const task = await on.task();
    await task.register("p", { url: "http://hooks.example/" });
    await task.write([status("COMPLETED")]);
    for (const ms of [700, 2800]) {
      await on.timer(ms);
      await on.clock.advance(ms);
    }
    await on.push.close();
    expect(on.logs).toEqual([expect.stringContaining("ENOTFOUND")]);
  });

  it("the address of a webhook may name the local machine", async () => {
    await using hook = await webhook();
    await using on = scene({ lookup: async () => ["127.0.0.1", "::1"] });
    const task = await on.task();
    await task.register("p", { url: `http://localhost:${hook.port}/hook` });
    await task.write([status("COMPLETED")]);
    await hook.untilReceived(1);
  });
});

describe("a store that fails", () => {
  it("a store that fails is retried until it answers, and no event is lost or delivered twice", async () => {
    const working = memoryTaskStore();
    let failures = 2;
    const recordsAfter: TaskStore["recordsAfter"] = async (...call) => {
      if (failures-- > 0) throw new Error("gone");
      return working.recordsAfter(...call);
    };
    const tasks = replaceMember(working, "recordsAfter", recordsAfter);
    await using hook = await webhook();
    await using on = scene({ tasks });
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await task.write([status("WORKING"), status("COMPLETED")]);
    for (let round = 0; round < 2; round++) {
      await on.timer(1000);
      await on.clock.advance(1000);
    }
    await hook.untilReceived(2);
    await on.push.close();
    expect(hook.labels).toEqual(["WORKING", "COMPLETED"]);
  });
});
