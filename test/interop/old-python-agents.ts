import { data, file, text } from "trivium";
import { expect } from "vitest";
import type { Client } from "../../src/client/node.js";
import type { ErrorCode } from "../../src/protocol/errors.js";
import { type Part, TaskState } from "../../src/protocol/model.js";
import { clientCases, collect, type Peer, send, stateOf, taskOf } from "./client-cases.js";
import { errorCases } from "./client-errors.js";
import { isTask, webhook } from "./old-python-webhook.js";

/** A call of our client to an agent, and the error code it must fail with, if any. */
export interface OldCase {
  readonly name: string;
  readonly code?: ErrorCode | undefined;
  run(peer: Peer): Promise<unknown>;
}

export const unknownId = "00000000-0000-7000-8000-000000000000";
export const bytes = Uint8Array.of(0, 127, 128, 255);

// A call that hangs must not delay the others. None of these takes a second.
export const allowance = { timeoutMs: 5000 };

/**
 * Starts a task that works until it is canceled, by leaving a stream, since not every release has sends that do not
 * wait.
 */
async function started(client: Client): Promise<string> {
  for await (const { response } of client.stream("slow", allowance)) {
    const { payload } = response;
    if (payload.case === "statusUpdate" && payload.value.status?.state === TaskState.WORKING)
      return payload.value.taskId;
  }
  throw new Error("the stream ended before the task worked");
}

async function drain(items: AsyncIterator<unknown>): Promise<void> {
  while ((await items.next()).done !== true);
}

/** Runs `run` while a task works, then cancels the task. */
async function withTask<T>(client: Client, run: (taskId: string) => Promise<T>): Promise<T> {
  const id = await started(client);
  try {
    return await run(id);
  } finally {
    await client.cancelTask({ id });
  }
}

function partsIn(payload: Awaited<ReturnType<Client["sendMessage"]>>["payload"]): readonly Part["content"][] {
  if (payload.case !== "message") throw new Error(`a message was wanted, not ${payload.case}`);
  return payload.value.parts.map(({ content }) => content);
}

/** Replace the cases of the same name that begin with an answer before the end. */
const own: readonly OldCase[] = [
  {
    name: "cancels a task that runs",
    async run({ client }) {
      const id = await started(client);
      expect(stateOf(await client.cancelTask({ id }, allowance))).toBe("CANCELED");
      expect(stateOf(await client.getTask({ id }, allowance))).toBe("CANCELED");
    },
  },
  {
    name: "subscribes to a task that runs and follows it to its end",
    async run({ client }) {
      // Not every release continues a task whose first stream is left.
      const first = client.stream("tick", allowance)[Symbol.asyncIterator]();
      const opening = await first.next();
      const payload = opening.done === true ? undefined : opening.value.response.payload;
      if (payload?.case !== "task") throw new Error(`a task was wanted, not ${payload?.case}`);
      const states: string[] = [];
      const [second] = await Promise.all([
        collect(client.subscribeToTask({ id: payload.value.id }, allowance)),
        drain(first),
      ]);
      expect(second[0]?.case).toBe("task");
      for (const each of second) {
        if (each.case === "task" || each.case === "statusUpdate") states.push(stateOf(each.value));
      }
      expect(states.at(-1)).toBe("COMPLETED");
    },
  },
  {
    name: "is answered before a task has ended, when it does not want to wait",
    async run({ client }) {
      const request = send("slow", {}, { returnImmediately: true });
      const { payload } = await client.sendMessage(request, { timeoutMs: 1500 });
      if (payload.case !== "task") throw new Error(`a task was wanted, not ${payload.case}`);
      expect(["SUBMITTED", "WORKING"]).toContain(stateOf(payload.value));
      await client.cancelTask({ id: payload.value.id }, allowance);
    },
  },
  {
    name: "creates a push configuration and gets it",
    run: ({ client }) =>
      withTask(client, async (taskId) => {
        const wanted = { taskId, id: "mine", url: "http://127.0.0.1:9/hook", token: "t0ken" };
        const config = await client.createTaskPushNotificationConfig(wanted, allowance);
        expect([config.taskId, config.id, config.url]).toEqual([taskId, "mine", wanted.url]);
        const got = await client.getTaskPushNotificationConfig({ taskId, id: "mine" }, allowance);
        expect([got.taskId, got.id, got.url]).toEqual([taskId, "mine", wanted.url]);
      }),
  },
  {
    name: "lists push configurations",
    run: ({ client }) =>
      withTask(client, async (taskId) => {
        await client.createTaskPushNotificationConfig(
          { taskId, id: "mine", url: "http://127.0.0.1:9/hook" },
          allowance,
        );
        const { configs } = await client.listTaskPushNotificationConfigs({ taskId }, allowance);
        expect(configs.map(({ id, url }) => [id, url])).toEqual([["mine", "http://127.0.0.1:9/hook"]]);
      }),
  },
  {
    name: "deletes a push configuration",
    run: ({ client }) =>
      withTask(client, async (taskId) => {
        await client.createTaskPushNotificationConfig(
          { taskId, id: "mine", url: "http://127.0.0.1:9/hook" },
          allowance,
        );
        await client.deleteTaskPushNotificationConfig({ taskId, id: "mine" }, allowance);
        await expect(client.getTaskPushNotificationConfig({ taskId, id: "mine" }, allowance)).rejects.toThrow();
      }),
  },
  {
    name: "gets a push configuration that is none",
    code: "taskNotFound",
    run: ({ client }) =>
      withTask(client, (taskId) => client.getTaskPushNotificationConfig({ taskId, id: "none" }, allowance)),
  },
  {
    name: "has a webhook called that came with the message",
    async run({ client }) {
      await using hook = await webhook();
      const configuration = { taskPushNotificationConfig: { url: hook.url, token: "inline" } };
      const { id } = await taskOf(client, send("task", {}, configuration));
      const { headers } = await hook.until(({ body }) => isTask(body, id, "completed"));
      expect(headers["x-a2a-notification-token"]).toBe("inline");
    },
  },
  {
    name: "gets files, data and metadata back unchanged",
    async run({ client }) {
      const image = file(bytes, { filename: "f.bin", mediaType: "application/octet-stream" });
      const link = file("https://files.example/a.txt", { filename: "a.txt", mediaType: "text/plain" });
      const parts = [text("back"), image, link, data({ list: [1, 2.5, null, true, "x"], nested: { empty: {} } })];
      const { payload } = await client.sendMessage(send("", { parts }), allowance);
      expect(partsIn(payload)).toEqual(parts.map(({ content }) => content));
      if (payload.case === "message") {
        expect(payload.value.parts.map(({ mediaType }) => mediaType).slice(1, 3)).toEqual([
          "application/octet-stream",
          "text/plain",
        ]);
      }
    },
  },
  {
    name: "is shown a task first by an agent that begins with an update",
    async run({ client }) {
      const [first, ...rest] = await collect(client.stream("sudden", allowance));
      expect(first?.case).toBe("task");
      const last = rest.at(-1);
      expect(last?.case === "statusUpdate" && stateOf(last.value)).toBe("COMPLETED");
    },
  },
  {
    name: "is given the extended card",
    async run({ client }) {
      const card = await client.getExtendedAgentCard({}, allowance);
      expect(card.skills.map(({ id }) => id)).toEqual(["script", "inner"]);
    },
  },
  {
    name: "lists tasks, which these versions cannot",
    code: "unsupportedOperation",
    run: ({ client }) => client.listTasks({}, allowance),
  },
  {
    name: "is told that an agent broke",
    code: "internalError",
    run: ({ client }) => client.send("crash", allowance),
  },
];

/** Cases that only newer agents can pass. */
const replaced = new Set([
  "creates, gets, lists and deletes a push configuration",
  "lists tasks by context and state, page by page",
  "asks for a page that is none",
  "asks for too large a page",
  "asks for an extended card that there is none of",
  ...own.map(({ name }) => name),
]);

const shared: readonly OldCase[] = [
  ...Object.entries(clientCases).map(([name, run]) => ({ name, run })),
  ...errorCases,
].filter(({ name }) => !replaced.has(name));

/** The cases of our client at agents on the official SDK. */
export const casesAtSdk: readonly OldCase[] = [...shared, ...own];
