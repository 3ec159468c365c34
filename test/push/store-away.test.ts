import { serve, working } from "trivium";
import { expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { memoryPushStore } from "../../src/store/memory/push-store.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { recordingLogger } from "../support/recording-logger.js";
import { requestOf, say, taskOf } from "../support/say.js";
import { storeLine } from "../support/store-line.js";
import { createVirtualClock, turnUntil } from "../support/virtual-clock.js";
import { webhook } from "./receiver.js";

it("while the store is away, webhooks wait without a line in the log for each try", async () => {
  const clock = createVirtualClock();
  const lines = [storeLine(memoryTaskStore({ clock })), storeLine(memoryPushStore())] as const;
  const { log, logger } = recordingLogger();
  const gate = Promise.withResolvers<void>();
  await using hook = await webhook();
  const server = await serve({
    card: { name: "Clerk", description: "Writes a report", version: "1.0.0" },
    port: 0,
    drainMs: 0,
    clock,
    logger,
    store: lines[0].store,
    push: { allow: "loopback", store: lines[1].store },
    async *agent() {
      yield working();
      await gate.promise;
    },
  });
  const client = await Client.connect(server.url, { cardCache: false });
  const response = await client.operations.sendMessage(say("go", { configuration: { returnImmediately: true } }), {});
  const config = requestOf("createTaskPushNotificationConfig", { taskId: taskOf(response).id, id: "c", url: hook.url });
  await client.operations.createTaskPushNotificationConfig(config, {});
  for (const line of lines) line.cut();
  gate.resolve();
  await clock.advance(20_000);
  for (const line of lines) line.restore();
  await clock.advance(5000);
  await hook.untilReceived(1);
  const problems = log.filter(({ level }) => level === "warn" || level === "error");
  expect(problems.map(({ message }) => message)).toContain("the task store is away");
  // The call that failed first is logged too.
  expect(problems.length).toBeLessThanOrEqual(2);
  await client.close();
  await turnUntil(clock, server.close());
});
