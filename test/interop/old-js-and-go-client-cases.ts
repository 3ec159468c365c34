import { expect } from "vitest";
import type { VersionName } from "../../src/version/versions.js";
import { clientCases, collect, stateOf, working } from "./client-cases.js";
import { errorCases } from "./client-errors.js";
import { anyCases, type OldClientCase, taskFor } from "./old-js-and-go-any-cases.js";
import { oldestCases } from "./old-js-and-go-v01-cases.js";
import { receiver } from "./old-js-and-go-webhook.js";

const silenceMs = 3000;

const kindOwn: Readonly<Record<string, OldClientCase>> = {
  ...anyCases,

  "is given the extended card": {
    async run({ client }) {
      const card = await client.getExtendedAgentCard({});
      expect(card.skills.map(({ id }) => id)).toEqual(["script", "inner"]);
    },
  },

  "subscribes to a finished task and is given it": {
    async run({ client }) {
      const { id } = await taskFor(client, "task");
      const payloads = await collect(client.subscribeToTask({ id }));
      expect(payloads[0]?.case === "task" && stateOf(payloads[0].value)).toBe("COMPLETED");
    },
  },

  "is called back by the agent, in its version": {
    async run({ client }) {
      await using hook = await receiver();
      const { id: taskId } = await working(client);
      await client.createTaskPushNotificationConfig({ taskId, id: "mine", url: hook.url, token: "t0ken" });
      await client.cancelTask({ id: taskId });
      const { body, token } = await hook.first;
      expect([body["kind"], body["id"], token]).toEqual(["task", taskId, "t0ken"]);
    },
  },

  "subscribes to a task that runs and follows it to its end": {
    async run({ client }) {
      const { id } = await working(client);
      const payloads = [];
      // Some agents send nothing until an event happens.
      for await (const { response } of client.subscribeToTask({ id }, { timeoutMs: silenceMs })) {
        payloads.push(response.payload);
        if (payloads.length === 1) await client.cancelTask({ id });
      }
      const last = payloads.at(-1);
      expect(payloads[0]?.case).toBe("task");
      expect(last?.case === "statusUpdate" && stateOf(last.value)).toBe("CANCELED");
    },
  },

  "is told that the version has no lists": {
    run: ({ client }) => client.listTasks({}),
    code: "unsupportedOperation",
  },
};

// The version lacks these, or `kindOwn` describes its own behavior.
const otherwise = new Set([
  "lists tasks by context and state, page by page",
  "subscribes to a task that waits for an answer",
  "subscribes to a finished task",
  "asks for a page that is none",
  "asks for too large a page",
  "asks for a version that is none",
  "asks for an extended card that there is none of",
]);

const kindCases: Readonly<Record<string, OldClientCase>> = Object.fromEntries(
  [
    ...Object.entries(clientCases).map(([name, run]) => [name, { run }] as const),
    ...errorCases.map(({ name, run, code }) => [name, { run, code }] as const),
    ...Object.entries(kindOwn),
  ].filter(([name]) => !otherwise.has(name)),
);

/** Returns the cases of our client at an agent of a version. */
export function oldClientCases(version: VersionName): Readonly<Record<string, OldClientCase>> {
  return version === "0.1" ? oldestCases : kindCases;
}
