import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/core/agent.js";
import type { PushStore, TaskStore } from "../../src/core/ports.js";
import { artifact, completed, inputRequired, working } from "../../src/protocol/events.js";
import { silentLogger } from "../../src/protocol/logger.js";
import { createPush, type Push } from "../../src/push/push.js";
import { inProcessSignals } from "../../src/signals/in-process.js";
import { memoryPushStore } from "../../src/store/memory/push-store.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { v1 } from "../../src/version/v1.0/v1.js";
import { contextOf, startHandler, type TestHandler } from "../support/handler.js";
import { requestOf, taskOf } from "../support/say.js";
import { createVirtualClock, turnUntil, type VirtualClock } from "../support/virtual-clock.js";
import { webhook } from "./receiver.js";

const alice = { agent: "", tenant: "", owner: "alice" };
const immediately = { configuration: { returnImmediately: true } };

/** Asks, or works and continues with each further message. */
const clerk: Agent = async function* ({ text, task, receive }) {
  if (text === "ask") return yield inputRequired("which?");
  yield working();
  const input = task === undefined ? (await receive()).parts[0]?.content.value : text;
  yield artifact(String(input), { artifactId: "a", lastChunk: true });
  yield completed();
};

/** One of several processes on the same stores, without hints between them. */
interface Process extends TestHandler {
  readonly push: Push;
  register(taskId: string, id: string, url: string): Promise<unknown>;
}

interface Place {
  readonly clock: VirtualClock;
  readonly tasks: TaskStore;
  readonly store: PushStore;
  process(name: string): Process;
  cursor(
    taskId: string,
    id: string,
  ): Promise<{ readonly cursor: number | undefined; readonly seq: number | undefined }>;
  [Symbol.asyncDispose](): Promise<void>;
}

function place(): Place {
  const clock = createVirtualClock();
  const tasks = memoryTaskStore({ clock });
  const store = memoryPushStore();
  const ends: (() => Promise<void>)[] = [];
  return {
    clock,
    tasks,
    store,
    process(name) {
      let ids = 0;
      const signals = inProcessSignals();
      // The first id that a handler creates is its instance's.
      const push = createPush({
        ...{ allow: "loopback", store, tasks, signals, clock, logger: silentLogger, versions: [v1] },
        instance: `${name}-1`,
        adoptMs: 3000,
      });
      const newId = (): string => `${name}-${++ids}`;
      const served = startHandler({ agent: clerk, clock, store: tasks, signals, push: push.service, newId });
      ends.push(async () => {
        await served[Symbol.asyncDispose]();
        await turnUntil(clock, push.close());
      });
      const register = (taskId: string, id: string, url: string) => {
        const config = requestOf("createTaskPushNotificationConfig", { taskId, id, url });
        return served.operations.createTaskPushNotificationConfig(config, contextOf());
      };
      return { ...served, push, register };
    },
    async cursor(taskId, id) {
      const head = await tasks.head(alice, taskId);
      return { cursor: (await store.get(head?.key ?? 0, id))?.cursor, seq: head?.seq };
    },
    async [Symbol.asyncDispose]() {
      for (const end of ends) await end();
    },
  };
}

// Advances the clock until a webhook has received this much.
async function untilReceived(on: Place, labels: () => readonly string[], count: number): Promise<void> {
  await expect
    .poll(async () => {
      await on.clock.advance(500);
      return labels().length;
    })
    .toBe(count);
}

describe("push notifications of several processes on the same stores", () => {
  it("push notifications are delivered by the configuration's process, wherever the task runs", async () => {
    await using hook = await webhook();
    await using on = place();
    const [here, there] = [on.process("a"), on.process("b")];
    const { id } = taskOf(await here.send("ask"));
    await here.register(id, "p", hook.url);
    const head = await on.tasks.head(alice, id);
    expect((await on.store.get(head?.key ?? 0, "p"))?.holder).toBe("a-1");
    const answer = there.send("tea", { taskId: id });
    await untilReceived(on, () => hook.labels, 3);
    await answer;
    expect(hook.labels).toEqual(["WORKING", "a=tea!", "COMPLETED"]);
    await expect.poll(() => on.store.list(head?.key ?? 0)).toMatchObject([{ holder: "", settled: true }]);
  });

  it("push notifications resume in another process when the delivering one has closed", async () => {
    await using hook = await webhook();
    await using on = place();
    const [here, there] = [on.process("a"), on.process("b")];
    const { id } = taskOf(await here.send("go", immediately));
    await there.register(id, "p", hook.url);
    await turnUntil(on.clock, there.push.close());
    await here.send("tea", { taskId: id });
    await untilReceived(on, () => hook.labels, 2);
    expect(hook.labels).toEqual(["a=tea!", "COMPLETED"]);
  });

  it("push notifications go to the new address when another process replaced it, pending events included", async () => {
    await using silent = await webhook();
    silent.answer = () => undefined;
    await using hook = await webhook();
    await using on = place();
    const [here, there] = [on.process("a"), on.process("b")];
    const { id } = taskOf(await here.send("ask"));
    await here.register(id, "p", silent.url);
    await here.send("ask", { taskId: id });
    await silent.untilReceived(1);
    await there.register(id, "p", hook.url);
    await hook.untilReceived(1);
    const answer = there.send("tea", { taskId: id });
    await untilReceived(on, () => hook.labels, 4);
    await answer;
    expect(hook.labels).toEqual(["INPUT_REQUIRED", "WORKING", "a=tea!", "COMPLETED"]);
    // The call in flight comes to nothing and is not repeated.
    await on.clock.advance(60_000);
    expect(silent.labels).toEqual(["INPUT_REQUIRED"]);
  });

  it("push notifications of several processes have nothing pending for an idle task", async () => {
    await using hook = await webhook();
    await using on = place();
    const here = on.process("a");
    const { id } = taskOf(await here.send("ask"));
    await here.register(id, "p", hook.url);
    await here.send("ask", { taskId: id });
    await untilReceived(on, () => hook.labels, 1);
    expect(hook.labels).toEqual(["INPUT_REQUIRED"]);
    await expect
      .poll(async () => {
        await on.clock.advance(500);
        const { cursor, seq } = await on.cursor(id, "p");
        return (seq ?? 0) - (cursor ?? 0);
      })
      .toBe(0);
  });
});
