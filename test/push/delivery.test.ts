import { describe, expect, it } from "vitest";
import { defaultPushLimits } from "../../src/push/limits.js";
import { settle } from "../support/virtual-clock.js";
import { webhook } from "./receiver.js";
import { chunk, scene, status } from "./scene.js";

describe("push deliveries", () => {
  // Requirements: V1-PUSH-2
  it("push deliveries send the events of a task in order, each once, and end with the task", async () => {
    await using hook = await webhook();
    await using on = scene();
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await task.write([status("WORKING"), chunk("a=1"), chunk("a+2")]);
    await task.write([chunk("a+3!"), chunk("b=whole"), status("COMPLETED")]);
    await hook.untilReceived(4);
    await on.push.close();
    expect(hook.labels).toEqual(["WORKING", "a=123!", "b=whole", "COMPLETED"]);
    expect(await task.owed()).toEqual([]);
    expect(on.logs).toEqual([]);
  });

  it("push deliveries send each chunk separately when every event is requested", async () => {
    await using hook = await webhook();
    await using on = scene({ events: "all" });
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await task.write([status("WORKING"), chunk("a=1"), chunk("a+2!"), status("COMPLETED")]);
    await on.push.close();
    expect(hook.labels).toEqual(["WORKING", "a=1", "a+2!", "COMPLETED"]);
  });

  // Requirements: V1-PUSH-1, V1-PUSH-2, V1-PUSH-3, V03-PUSH-5
  it("push deliveries carry the token and the credentials, and JSON in the media type of the protocol", async () => {
    await using hook = await webhook();
    await using on = scene();
    const task = await on.task();
    const authentication = { scheme: "Bearer", credentials: "s-1" };
    await task.register("p", { url: `${hook.url}?k=v`, token: "n-1", authentication });
    await task.write([status("COMPLETED")]);
    await on.push.close();
    const [call] = hook.calls;
    expect(call).toMatchObject({ method: "POST", path: "/hook?k=v" });
    expect(call?.headers).toMatchObject({
      "content-type": "application/a2a+json",
      authorization: "Bearer s-1",
      "x-a2a-notification-token": "n-1",
    });
    expect(JSON.parse(call?.text ?? "")).toEqual({
      statusUpdate: { taskId: "t", contextId: "c", status: { state: "TASK_STATE_COMPLETED" } },
    });
  });

  it("push deliveries send no header for unset values", async () => {
    await using hook = await webhook();
    await using on = scene();
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await task.register("q", { url: hook.url, authentication: { scheme: "Negotiate", credentials: "" } });
    await task.write([status("COMPLETED")]);
    await on.push.close();
    const headers = hook.calls.map(({ headers }) => [headers.authorization, headers["x-a2a-notification-token"]]);
    expect(headers).toEqual(
      expect.arrayContaining([
        [undefined, undefined],
        ["Negotiate", undefined],
      ]),
    );
  });

  it("push deliveries carry no scheme that lacks its credential", async () => {
    await using hook = await webhook();
    await using on = scene();
    const task = await on.task();
    await task.register("p", { url: hook.url, authentication: { scheme: "Bearer", credentials: "" } });
    await task.write([status("COMPLETED")]);
    await on.push.close();
    expect(hook.calls.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });

  // Requirements: V1-PUSH-4
  it("push deliveries go to each configuration of a task, and a hanging webhook delays no other", async () => {
    await using hook = await webhook();
    await using silent = await webhook();
    silent.answer = () => undefined;
    await using on = scene();
    const task = await on.task();
    await task.register("p", { url: silent.url });
    await task.register("q", { url: hook.url });
    await task.write([status("WORKING"), status("COMPLETED")]);
    await hook.untilReceived(2);
    await silent.untilReceived(1);
    expect(hook.labels).toEqual(["WORKING", "COMPLETED"]);
    expect(silent.labels).toEqual(["WORKING"]);
    const closed = on.push.close();
    await on.clock.advance(2000);
    await closed;
    expect(silent.labels).toEqual(["WORKING"]);
  });

  it("push deliveries start after the cursor, and send an artifact that began before it whole", async () => {
    await using hook = await webhook();
    await using on = scene();
    const task = await on.task();
    await task.write([status("WORKING"), chunk("a=1"), chunk("a+2")]);
    await task.register("p", { url: hook.url });
    await task.write([chunk("a+3!"), status("COMPLETED")]);
    await on.push.close();
    expect(hook.labels).toEqual(["a=123!", "COMPLETED"]);
  });

  // Requirements: V1-PCFG-10
  it("push deliveries stop when the configuration is deleted, and abort the call in flight", async () => {
    await using hook = await webhook();
    await using other = await webhook();
    hook.answer = () => undefined;
    await using on = scene();
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await task.register("q", { url: other.url });
    await task.write([status("WORKING")]);
    await hook.untilReceived(1);
    await task.delete("p");
    await task.write([status("COMPLETED")]);
    await other.untilReceived(2);
    await on.push.close();
    expect(hook.labels).toEqual(["WORKING"]);
    expect(hook.brokenOff()).toBe(1);
  });

  it("push deliveries stop when another process has deleted the configuration", async () => {
    await using hook = await webhook();
    await using on = scene();
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await task.write([status("WORKING")]);
    await hook.untilReceived(1);
    await on.store.delete(task.key, "p");
    await task.write([status("COMPLETED")]);
    await on.push.close();
    expect(hook.labels).toEqual(["WORKING"]);
  });

  it("push deliveries continue with a replaced configuration, without a gap", async () => {
    await using hook = await webhook();
    await using other = await webhook();
    let answer = (_: number): void => {};
    hook.answer = () => new Promise((resolve) => (answer = resolve));
    await using on = scene();
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await task.write([status("WORKING"), chunk("a=1!")]);
    await hook.untilReceived(1);
    await task.register("p", { url: other.url, token: "new" });
    answer(200);
    await task.write([status("COMPLETED")]);
    await on.push.close();
    expect(hook.labels).toEqual(["WORKING"]);
    expect(other.labels).toEqual(["a=1!", "COMPLETED"]);
    expect(other.calls.map(({ headers }) => headers["x-a2a-notification-token"])).toEqual(["new", "new"]);
  });

  it("push deliveries find events without a hint by polling", async () => {
    await using hook = await webhook();
    await using on = scene();
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await task.write([status("WORKING")]);
    await hook.untilReceived(1);
    await task.write([status("COMPLETED")], { hint: false });
    await on.clock.advance(1000);
    await hook.untilReceived(2);
    expect(hook.labels).toEqual(["WORKING", "COMPLETED"]);
  });

  it("push deliveries send nothing for a configuration of an already ended task, which is kept", async () => {
    await using hook = await webhook();
    await using on = scene();
    const task = await on.task();
    await task.write([status("COMPLETED")]);
    await task.register("p", { url: hook.url });
    await on.push.close();
    expect([await task.owed(), await task.configIds()]).toEqual([[], ["p"]]);
    expect(hook.calls).toEqual([]);
  });

  it("push deliveries respect the limit of concurrent calls", async () => {
    await using hook = await webhook();
    const answers: ((status: number) => void)[] = [];
    let most = 0;
    hook.answer = () =>
      new Promise((resolve) => {
        answers.push(resolve);
        most = Math.max(most, answers.length);
      });
    const limits = { ...defaultPushLimits, pushCallsAtOnce: 2, pushAttempts: 1 };
    await using on = scene({ limits });
    const task = await on.task();
    for (const id of ["p", "q", "r", "s"]) await task.register(id, { url: hook.url });
    await task.write([status("COMPLETED")]);
    for (const count of [2, 4]) {
      await hook.untilReceived(count);
      for (const answer of answers.splice(0)) answer(204);
    }
    await on.push.close();
    expect([hook.calls.length, most]).toEqual([4, 2]);
  });

  it("push deliveries keep the cursor of a webhook in the store", async () => {
    await using hook = await webhook();
    await using on = scene();
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await task.write([status("WORKING"), chunk("a=1"), chunk("a+2")]);
    await task.write([chunk("b=1!")]);
    await hook.untilReceived(2);
    await on.push.close();
    expect(hook.labels).toEqual(["WORKING", "b=1!"]);
    expect((await on.store.get(task.key, "p"))?.cursor).toBe(5);
  });

  it("push deliveries end when closed: pending events are sent, and hanging calls aborted", async () => {
    await using hook = await webhook();
    await using silent = await webhook();
    silent.answer = () => undefined;
    const on = scene();
    const task = await on.task();
    await task.register("p", { url: hook.url });
    await task.register("q", { url: silent.url });
    await task.write([status("WORKING")]);
    await silent.untilReceived(1);
    await task.write([status("COMPLETED")]);
    const closed = on.push.close();
    await hook.untilReceived(2);
    await on.clock.advance(2000);
    await closed;
    await task.register("r", { url: hook.url });
    await settle();
    expect(await task.owed()).toContain("r");
    expect(hook.labels).toEqual(["WORKING", "COMPLETED"]);
    expect(on.clock.pending().filter((due) => due > on.clock.now() + 1)).toEqual([]);
  });
});
