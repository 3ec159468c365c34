import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/core/agent.js";
import type { PushStore } from "../../src/core/ports.js";
import { working } from "../../src/protocol/events.js";
import { idempotentSendExtension } from "../../src/protocol/extensions.js";
import { silentLogger } from "../../src/protocol/logger.js";
import { TaskPushNotificationConfigSchema } from "../../src/protocol/model.js";
import { createPush } from "../../src/push/push.js";
import { inProcessSignals } from "../../src/signals/in-process.js";
import { memoryPushStore } from "../../src/store/memory/push-store.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { v1 } from "../../src/version/v1.0/v1.js";
import { startHandler } from "../support/handler.js";
import { taskOf } from "../support/say.js";
import { createVirtualClock, turnUntil } from "../support/virtual-clock.js";
import { webhook } from "./receiver.js";

const once = { extensions: [idempotentSendExtension] };
const forEver = new Promise<never>(() => {});
const busy: Agent = async function* () {
  yield working();
  await forEver;
};

/** A push store that refuses configurations while it is away. */
function whileAway(store: PushStore, isAway: () => boolean): PushStore {
  return { ...store, set: (...args) => (isAway() ? Promise.reject(new Error("is away")) : store.set(...args)) };
}

describe("the push configuration of a repeated send", () => {
  it.each(["", "mine"])(
    'the push configuration of a repeated send is kept once, when the first one could not be (id: "%s")',
    async (id) => {
      await using hook = await webhook();
      const clock = createVirtualClock();
      const store = memoryTaskStore({ clock });
      const pushStore = memoryPushStore();
      let isAway = true;
      const common = { clock, signals: inProcessSignals(), logger: silentLogger, instance: "here" };
      const push = createPush({
        ...common,
        allow: "loopback",
        store: whileAway(pushStore, () => isAway),
        tasks: store,
        versions: [v1],
      });
      const served = startHandler({ ...common, agent: busy, store, push: push.service });
      const config = create(TaskPushNotificationConfigSchema, { id, url: hook.url });
      const request = {
        messageId: "m",
        configuration: { returnImmediately: true, taskPushNotificationConfig: config },
      };
      // The task exists, and its caller gets an error.
      const first = served.send("go", request, once).then(
        () => "answered",
        ({ code }) => code,
      );
      await turnUntil(
        clock,
        first.then(() => {}),
      );
      expect(await first).toBe("unavailable");
      isAway = false;
      const ids = new Set<string>();
      for (let times = 0; times < 2; times++) ids.add(taskOf(await served.send("go", request, once)).id);
      expect(ids.size).toBe(1);
      const head = await store.head({ agent: "", tenant: "", owner: "alice" }, [...ids].join());
      const configs = await pushStore.list(head?.key ?? 0);
      expect(configs.map(({ config: { url } }) => url)).toEqual([hook.url]);
      if (id !== "") expect(configs[0]?.config.id).toBe(id);
      await hook.untilReceived(1);
      await turnUntil(
        clock,
        Promise.all([served.handler.close(), push.close()]).then(() => {}),
      );
    },
  );
});
