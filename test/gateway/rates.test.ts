import { Client, completed, gateway, serve } from "trivium";
import { expect, it } from "vitest";
import { errorOf, say } from "../support/say.js";

const card = { name: "Behind", description: "Is behind a gateway", version: "1.0.0" };

it("a gateway limits the requests of its callers, and leaves the limits of tasks to the agent", async () => {
  await using agent = await serve({ card, port: 0, drainMs: 0, logger: false, agent: async () => completed() });
  const before = { upstream: agent.url, port: 0, drainMs: 0, logger: false } as const;
  await using limited = await gateway({
    ...before,
    rate: { operations: { sendMessage: { all: { requests: "2/day" } } } },
  });
  await using client = await Client.connect(limited.url, { retry: false });
  await client.operations.sendMessage(say("go"), {});
  await client.operations.sendMessage(say("go"), {});
  expect(await errorOf(client.operations.sendMessage(say("go"), {}))).toMatchObject({
    code: "resourceExhausted",
    metadata: { limit: "rate.operations.sendMessage.all.requests" },
  });
  await expect(gateway({ ...before, rate: { all: { tasks: "2/day" } } })).rejects.toThrow(
    "rate.all.tasks is for an agent that runs here: limit tasks where they run",
  );
});
