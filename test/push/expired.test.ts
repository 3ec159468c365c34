import { create } from "@bufbuild/protobuf";
import { inputRequired, memoryTaskStore, serve } from "trivium";
import { sqliteStore } from "trivium/sqlite";
import { expect, it } from "vitest";
import { Role, SendMessageRequestSchema } from "../../src/protocol/model.js";
import { connectTo } from "../../src/testing/index.js";
import { temporaryFolder } from "../store/sql/temporary-folder.js";
import { createVirtualClock } from "../support/virtual-clock.js";
import { webhook } from "./receiver.js";

const hourMs = 3_600_000;

it.each(["memory", "SQLite"])("a webhook hears that its task has waited too long, on the store: %s", async (name) => {
  await using hook = await webhook();
  const clock = createVirtualClock();
  const store =
    name === "memory"
      ? memoryTaskStore({ clock })
      : sqliteStore({ path: `${await temporaryFolder()}/tasks.db`, clock });
  await using server = await serve({
    ...{
      card: { name: "Clerk", description: "Asks", version: "1.0.0" },
      agent: async () => inputRequired("which one?"),
    },
    ...{ store, clock, port: 0, drainMs: 0, logger: false, push: { allow: "loopback" } },
    limits: { taskWaitMaxMs: hourMs },
  });
  await using client = await connectTo(server);
  await client.sendMessage(
    create(SendMessageRequestSchema, {
      message: { messageId: "m", role: Role.USER, parts: [{ content: { case: "text", value: "go" } }] },
      configuration: { taskPushNotificationConfig: { url: hook.url } },
    }),
  );
  await hook.untilReceived(1);
  // On SQLite a step of the clock starts work in another thread, which the next step has to find done.
  await expect
    .poll(async () => {
      await clock.advance(120_000);
      return hook.calls.map(({ text }) => /TASK_STATE_\w+/.exec(text)?.[0]);
    })
    .toEqual(["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_FAILED"]);
});
