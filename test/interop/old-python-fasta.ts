import { data, file, text } from "trivium";
import { expect } from "vitest";
import { collect, send, stateOf, taskOf } from "./client-cases.js";
import { allowance, bytes, type OldCase, unknownId } from "./old-python-agents.js";

/** The cases of our client at agents on FastA2A, which answers at once and has neither streams nor push. */
export const casesAtFastA2A: readonly OldCase[] = [
  {
    name: "reads the card",
    async run({ client: { card } }) {
      expect([card.name, card.version]).toEqual(["Python", "1.2.3"]);
      expect([card.capabilities?.streaming, card.capabilities?.pushNotifications]).toEqual([false, false]);
      expect(card.skills.map(({ id, tags }) => [id, tags])).toEqual([["script", ["test"]]]);
    },
  },
  {
    name: "is answered by a finished task, though the agent answers at once",
    async run({ client }) {
      const task = await taskOf(client, send("task"));
      expect([stateOf(task), task.artifacts.map(({ name }) => name)]).toEqual(["COMPLETED", ["Result"]]);
    },
  },
  {
    name: "waits for the artifact of a task",
    async run({ client }) {
      const { id, contextId } = await taskOf(client, send("task", {}, { returnImmediately: true }));
      const answer = await client.wait(id, allowance);
      expect([answer.taskId, answer.contextId, answer.state]).toEqual([id, contextId, "completed"]);
      expect(answer.artifacts.map(({ name, text: result }) => [name, result])).toEqual([["Result", "the result"]]);
    },
  },
  {
    name: "streams a task from an agent without streams",
    async run({ client }) {
      const payloads = await collect(client.stream("task", allowance));
      expect(payloads[0]?.case).toBe("task");
      expect(["SUBMITTED", "COMPLETED"]).toContain(
        payloads
          .map((each) => (each.case === "task" || each.case === "statusUpdate" ? stateOf(each.value) : ""))
          .at(-1),
      );
    },
  },
  {
    name: "gets data back unchanged",
    async run({ client }) {
      const parts = [text("back"), data({ list: [1, 2.5, null, true, "x"], nested: { empty: {} } })];
      const { id } = await taskOf(client, send("", { parts }));
      const { task } = await client.wait(id, allowance);
      expect(task?.artifacts[0]?.parts.map(({ content }) => content)).toEqual(parts.map(({ content }) => content));
    },
  },
  {
    name: "gets the bytes of a file back",
    async run({ client }) {
      const parts = [text("back"), file(bytes, { filename: "f.bin", mediaType: "application/octet-stream" })];
      const { id } = await taskOf(client, send("", { parts }));
      const { task } = await client.wait(id, allowance);
      expect(task?.artifacts[0]?.parts.map(({ content }) => content)).toEqual(parts.map(({ content }) => content));
    },
  },
  {
    name: "answers a question and gets the result",
    async run({ client }) {
      const { id } = await taskOf(client, send("ask"));
      const question = await client.wait(id, allowance);
      expect(question.state).toBe("input-required");
      await client.send("red", { ...allowance, continue: question });
      const answer = await client.wait(id, allowance);
      expect([answer.taskId, answer.contextId, answer.state]).toEqual([id, question.contextId, "completed"]);
      expect(answer.text).toBe("you said red");
    },
  },
  {
    name: "gets the history of a task",
    async run({ client }) {
      const { id } = await taskOf(client, send("ask"));
      await client.wait(id, allowance);
      const { history } = await client.getTask({ id }, allowance);
      expect(history.map(({ parts }) => parts[0]?.content.value)).toEqual(["ask", "which one?"]);
    },
  },
  {
    name: "is told that a task failed",
    async run({ client }) {
      const { id } = await taskOf(client, send("fail"));
      expect((await client.wait(id, allowance)).state).toBe("failed");
    },
  },
  {
    name: "cancels a task that runs",
    async run({ client }) {
      const { id } = await taskOf(client, send("slow", {}, { returnImmediately: true }));
      await client.cancelTask({ id }, allowance);
      expect((await client.wait(id, allowance)).state).toBe("canceled");
    },
  },
  {
    name: "sends twenty messages at once",
    async run({ client }) {
      const texts = Array.from({ length: 20 }, (_, index) => `number ${index}`);
      const tasks = await Promise.all(texts.map((each) => taskOf(client, send(each))));
      const ended = await Promise.all(tasks.map(({ id }) => client.wait(id, allowance)));
      expect(ended.map((answer) => answer.text)).toEqual(texts);
    },
  },
  { name: "gets a task that is none", code: "taskNotFound", run: ({ client }) => client.getTask({ id: unknownId }) },
  {
    name: "cancels a task that is none",
    code: "taskNotFound",
    run: ({ client }) => client.cancelTask({ id: unknownId }),
  },
  {
    name: "creates a push configuration, which the card does not offer",
    code: "pushNotificationNotSupported",
    run: ({ client }) => client.createTaskPushNotificationConfig({ taskId: unknownId, url: "http://127.0.0.1:9/" }),
  },
];
