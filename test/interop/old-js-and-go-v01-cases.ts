import { expect } from "vitest";
import type { Client } from "../../src/client/node.js";
import { Role } from "../../src/protocol/model.js";
import { collect, send, stateOf, taskOf } from "./client-cases.js";
import { anyCases, joined, type OldClientCase, taskFor } from "./old-js-and-go-any-cases.js";

/** Streams a task until the agent is working, since every send of 0.1 waits. */
async function atWork(client: Client): Promise<{ readonly id: string; readonly end: Promise<string> }> {
  const items = client.stream("slow")[Symbol.asyncIterator]();
  let id = "";
  for (;;) {
    const { done, value } = await items.next();
    if (done) throw new Error("the stream ended before the agent was at work");
    const { payload } = value.response;
    if (payload.case === "task") id = payload.value.id;
    if ((payload.case === "task" || payload.case === "statusUpdate") && stateOf(payload.value) === "WORKING") break;
  }
  return { id, end: lastOf(items) };
}

async function lastOf(items: AsyncIterator<{ readonly response: { readonly payload: Payload } }>): Promise<string> {
  let state = "";
  for (;;) {
    const { done, value } = await items.next();
    if (done) return state;
    const { payload } = value.response;
    if (payload.case === "statusUpdate") state = stateOf(payload.value);
  }
}

type Payload = Awaited<ReturnType<typeof collect>>[number];

const unknownId = "00000000-0000-7000-8000-000000000000";

/** Cases of our client at agents of 0.1. */
export const oldestCases: Readonly<Record<string, OldClientCase>> = {
  ...anyCases,

  "reads the card": {
    async run({ client: { card }, sdk }) {
      expect([card.name, card.version, card.capabilities?.streaming]).toEqual([sdk, "1.2.3", true]);
      expect(card.skills.map(({ id, tags }) => [id, tags])).toEqual([["script", ["test"]]]);
    },
  },

  "is answered by a message": {
    async run({ client }) {
      const { status } = await taskFor(client, "message");
      expect([stateOf({ status }), status?.message?.role, joined(status?.message?.parts)]).toEqual([
        "COMPLETED",
        Role.AGENT,
        "hello",
      ]);
    },
  },

  "is answered by a finished task with its artifact": {
    async run({ client }) {
      const task = await taskFor(client, "task");
      expect([stateOf(task), joined(task.status?.message?.parts)]).toEqual(["COMPLETED", "done"]);
      expect(task.artifacts.map(({ name, parts }) => [name, joined(parts)])).toEqual([["Result", "the result"]]);
    },
  },

  "sends twenty messages at once": {
    async run({ client }) {
      const texts = Array.from({ length: 20 }, (_, index) => `number ${index}`);
      const tasks = await Promise.all(texts.map((each) => taskFor(client, each)));
      expect(tasks.map(({ status }) => joined(status?.message?.parts))).toEqual(texts);
      expect(new Set(tasks.map(({ id }) => id))).toHaveProperty("size", 20);
    },
  },

  "streams a task, which comes first": {
    async run({ client }) {
      const payloads = await collect(client.stream("stream 5"));
      expect(payloads[0]?.case).toBe("task");
      const chunks = payloads.map((each) => (each.case === "artifactUpdate" ? joined(each.value.artifact?.parts) : ""));
      expect(chunks.join("")).toBe("0,1,2,3,4,");
      const last = payloads.at(-1);
      expect(last?.case === "statusUpdate" && stateOf(last.value)).toBe("COMPLETED");
    },
  },

  "gets a task with its history": {
    async run({ client }) {
      const { id } = await taskFor(client, "task");
      const task = await client.getTask({ id });
      expect([task.id, stateOf(task), joined(task.history[0]?.parts)]).toEqual([id, "COMPLETED", "task"]);
    },
  },

  "cancels a task that runs, and sees it on the stream": {
    async run({ client }) {
      const { id, end } = await atWork(client);
      expect(stateOf(await client.cancelTask({ id }))).toBe("CANCELED");
      expect(await end).toBe("CANCELED");
      expect(stateOf(await client.getTask({ id }))).toBe("CANCELED");
    },
  },

  "subscribes to a task that runs": {
    async run({ client }) {
      const { id, end } = await atWork(client);
      for await (const { response } of client.subscribeToTask({ id })) {
        expect(response.payload.case === "task" && response.payload.value.id).toBe(id);
        break;
      }
      await client.cancelTask({ id });
      await end;
    },
  },

  "answers a question on a second stream": {
    async run({ client }) {
      const question = await client.stream("ask").answer;
      expect(question.state).toBe("input-required");
      const answer = await client.stream("this one", { continue: question }).answer;
      expect([answer.taskId, answer.state]).toEqual([question.taskId, "completed"]);
      expect(answer.artifacts.at(-1)?.text).toBe("you said this one");
    },
  },

  "waits for a task that has ended": {
    async run({ client }) {
      const { id } = await taskFor(client, "task");
      expect((await client.wait(id)).state).toBe("completed");
    },
  },

  "is told that a task failed": {
    async run({ client }) {
      const task = await taskFor(client, "fail");
      expect([stateOf(task), joined(task.status?.message?.parts)]).toEqual(["FAILED", "it broke"]);
    },
  },

  "creates, gets and lists a push configuration": {
    async run({ client }) {
      const { id: taskId } = await taskFor(client, "task");
      const url = "http://127.0.0.1:9/hook";
      const config = await client.createTaskPushNotificationConfig({ taskId, url, token: "t0ken" });
      expect([config.taskId, config.url]).toEqual([taskId, url]);
      const got = await client.getTaskPushNotificationConfig({ taskId, id: config.id });
      expect([got.url, got.token]).toEqual([url, "t0ken"]);
      const { configs } = await client.listTaskPushNotificationConfigs({ taskId });
      expect(configs.map((each) => each.url)).toEqual([url]);
    },
  },

  "is told that the version has no lists": { run: ({ client }) => client.listTasks({}), code: "unsupportedOperation" },
  "gets a task that is none": { run: ({ client }) => client.getTask({ id: unknownId }), code: "taskNotFound" },
  "cancels a task that is none": { run: ({ client }) => client.cancelTask({ id: unknownId }), code: "taskNotFound" },
  "subscribes to a task that is none": {
    run: ({ client }) => collect(client.subscribeToTask({ id: unknownId })),
    code: "taskNotFound",
  },
  "cancels a finished task": {
    run: async ({ client }) => client.cancelTask({ id: (await taskOf(client, send("task"))).id }),
    code: "taskNotCancelable",
  },
};
