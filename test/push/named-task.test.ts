import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/core/agent.js";
import type { PushStore } from "../../src/core/ports.js";
import { artifact, completed, inputRequired } from "../../src/protocol/events.js";
import { idempotentSendExtension } from "../../src/protocol/extensions.js";
import { silentLogger } from "../../src/protocol/logger.js";
import { createPush } from "../../src/push/push.js";
import { inProcessSignals } from "../../src/signals/in-process.js";
import { memoryPushStore } from "../../src/store/memory/push-store.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { v1 } from "../../src/version/v1.0/v1.js";
import { contextOf, startHandler, type TestHandler } from "../support/handler.js";
import { errorOf, requestOf, taskOf } from "../support/say.js";
import { createVirtualClock } from "../support/virtual-clock.js";
import { type Receiver, webhook } from "./receiver.js";

const alice = { agent: "", tenant: "", owner: "alice" };
const named = { namesTasks: true, version: "0.0" };
const versions = [v1, { ...v1, name: "0.0" }];

const clerk: Agent = async function* ({ text, task }) {
  if (task === undefined) {
    yield inputRequired("which?");
    return;
  }
  yield artifact(text, { artifactId: "a", lastChunk: true });
  yield completed();
};

interface Scene {
  readonly hook: Receiver;
  readonly served: TestHandler;
  readonly store: PushStore;
  /** Versions and task names of a task's registrations. */
  registered(id: string): Promise<readonly (readonly [version: string, name: string | undefined])[]>;
  [Symbol.asyncDispose](): Promise<void>;
}

async function serveClerk(): Promise<Scene> {
  const clock = createVirtualClock();
  const tasks = memoryTaskStore({ clock });
  const [signals, store] = [inProcessSignals(), memoryPushStore()];
  const hook = await webhook();
  const push = createPush({ allow: "loopback", store, tasks, signals, clock, logger: silentLogger, versions });
  const served = startHandler({ agent: clerk, clock, store: tasks, signals, push: push.service });
  return {
    hook,
    served,
    store,
    async registered(id) {
      const head = await tasks.head(alice, id);
      return (await store.list(head?.key ?? 0)).map(({ version, taskName }) => [version, taskName]);
    },
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await push.close();
      await hook[Symbol.asyncDispose]();
    },
  };
}

async function idOf({ served }: Scene, name: string): Promise<string> {
  return (await served.store.taskNamed(alice, name)) ?? "";
}

/** The task id in each call of a webhook. */
function idsTold(hook: Receiver): string[] {
  return hook.calls.map(({ text }) => {
    const { statusUpdate, artifactUpdate } = JSON.parse(text);
    return (statusUpdate ?? artifactUpdate).taskId;
  });
}

describe("a push configuration of a task named by its caller", () => {
  it("a push configuration of a named task is set, shown, listed and deleted under the name", async () => {
    await using on = await serveClerk();
    const { operations, namedOperations: calls, send } = on.served;
    await send("tea", { taskId: "order" }, named);
    const taskId = "order";
    const context = contextOf(named);
    const config = requestOf("createTaskPushNotificationConfig", { taskId, id: "p", url: on.hook.url });
    expect((await calls.createTaskPushNotificationConfig(config, context)).taskId).toBe("order");
    const one = requestOf("getTaskPushNotificationConfig", { taskId, id: "p" });
    expect((await calls.getTaskPushNotificationConfig(one, context)).taskId).toBe("order");
    const all = requestOf("listTaskPushNotificationConfigs", { taskId });
    const page = await calls.listTaskPushNotificationConfigs(all, context);
    expect(page.configs.map((each) => each.taskId)).toEqual(["order"]);
    const id = await idOf(on, "order");
    const plain = await operations.listTaskPushNotificationConfigs({ ...all, taskId: id }, contextOf());
    expect(plain.configs.map((each) => each.taskId)).toEqual([id]);
    await calls.deleteTaskPushNotificationConfig(
      requestOf("deleteTaskPushNotificationConfig", { taskId, id: "p" }),
      context,
    );
    expect(await errorOf(calls.getTaskPushNotificationConfig(one, context))).toMatchObject({
      code: "taskNotFound",
      metadata: { taskId: "order", id: "p" },
    });
  });

  it("a push configuration of a named task is delivered under the name that its caller used", async () => {
    await using on = await serveClerk();
    await using other = await webhook();
    const { operations, namedOperations: calls, send } = on.served;
    await send("tea", { taskId: "order" }, named);
    const id = await idOf(on, "order");
    const config = requestOf("createTaskPushNotificationConfig", { taskId: "order", url: on.hook.url });
    await calls.createTaskPushNotificationConfig(config, contextOf(named));
    const plain = { ...config, taskId: id, url: other.url };
    await operations.createTaskPushNotificationConfig(plain, contextOf());
    expect(await on.registered(id)).toEqual([
      ["0.0", "order"],
      ["1.0", undefined],
    ]);
    await send("green", { taskId: id });
    await on.hook.untilReceived(3);
    await other.untilReceived(3);
    expect(new Set(idsTold(on.hook))).toEqual(new Set(["order"]));
    expect(new Set(idsTold(other))).toEqual(new Set([id]));
  });

  it.each([
    ["a send", []],
    ["a send that shall be done once", [idempotentSendExtension]],
  ])(
    "a push configuration of a send in %s is made in its version, for a new and a continued task",
    async (_, extensions) => {
      await using on = await serveClerk();
      const caller = { ...named, extensions };
      const configuration = { taskPushNotificationConfig: { id: "p", url: on.hook.url } };
      const request = { taskId: "order", configuration };
      expect(taskOf(await on.served.send("tea", request, caller)).id).toBe("order");
      await on.hook.untilReceived(1);
      const id = await idOf(on, "order");
      expect(await on.registered(id)).toEqual([["0.0", "order"]]);
      await on.served.send(
        "green",
        { ...request, configuration: { taskPushNotificationConfig: { id: "q", url: on.hook.url } } },
        caller,
      );
      await on.hook.untilReceived(6);
      expect(new Set(idsTold(on.hook))).toEqual(new Set(["order"]));
    },
  );

  it("a push configuration has no name of a task when its caller used the id", async () => {
    await using on = await serveClerk();
    const { id } = taskOf(await on.served.send("tea"));
    const config = requestOf("createTaskPushNotificationConfig", { taskId: id, url: on.hook.url });
    await on.served.namedOperations.createTaskPushNotificationConfig(config, contextOf(named));
    expect(await on.registered(id)).toEqual([["0.0", undefined]]);
  });
});
