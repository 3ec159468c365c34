import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { Client } from "../../src/client/node.js";
import type { StreamResponse, Task } from "../../src/protocol/model.js";
import { Role, TaskState } from "../../src/protocol/model.js";
import type { StreamItem } from "../../src/protocol/operations.js";
import type { SdkAgent } from "./sdk-agents.js";

/** An agent on an official SDK and our client's connection to it over one binding. */
export interface Peer {
  readonly sdk: SdkAgent["name"];
  readonly client: Client;
}

type SendRequest = Parameters<Client["sendMessage"]>[0];
type Payload = StreamResponse["payload"];

/** A request with one text. `message` adds other members to the message. */
export function send(text: string, message: object = {}, configuration?: object): SendRequest {
  const parts = [{ content: { case: "text" as const, value: text } }];
  const request: SendRequest = { message: { messageId: randomUUID(), role: Role.USER, parts, ...message } };
  return configuration === undefined ? request : { ...request, configuration };
}

/** Sends a text and returns the task of the answer. */
export async function taskOf(client: Client, request: SendRequest): Promise<Task> {
  const { payload } = await client.sendMessage(request);
  if (payload.case !== "task") throw new Error(`a task was wanted, not ${payload.case}`);
  return payload.value;
}

/** Starts a task that works until it is canceled and returns it while it runs. */
export async function working(client: Client): Promise<Task> {
  const task = await taskOf(client, send("slow", {}, { returnImmediately: true }));
  expect([TaskState.SUBMITTED, TaskState.WORKING]).toContain(task.status?.state);
  return task;
}

export function stateOf(holder: { readonly status?: Task["status"] }): string {
  return TaskState[holder.status?.state ?? 0] ?? "none";
}

function textOf(holder: { readonly parts: Task["history"][number]["parts"] } | undefined): string {
  return (holder?.parts ?? []).map(({ content }) => (content.case === "text" ? content.value : "")).join("");
}

export async function collect(stream: AsyncIterable<StreamItem>): Promise<Payload[]> {
  const payloads: Payload[] = [];
  for await (const { response } of stream) payloads.push(response.payload);
  return payloads;
}

function chunksOf(payloads: readonly Payload[]): string {
  return payloads.map((each) => (each.case === "artifactUpdate" ? textOf(each.value.artifact) : "")).join("");
}

function lastState(payloads: readonly Payload[]): string {
  const last = payloads.at(-1);
  return last?.case === "statusUpdate" || last?.case === "task" ? stateOf(last.value) : `${last?.case}`;
}

type Case = (peer: Peer) => Promise<void>;

export const clientCases: Readonly<Record<string, Case>> = {
  async "reads the card"({ client: { card }, sdk }) {
    expect([card.name, card.version]).toEqual([sdk, "1.2.3"]);
    expect([card.capabilities?.streaming, card.capabilities?.pushNotifications]).toEqual([true, true]);
    expect(card.skills.map(({ id, tags }) => [id, tags])).toEqual([["script", ["test"]]]);
  },

  async "is answered by a message"({ client }) {
    const { payload } = await client.sendMessage(send("message"));
    expect(payload.case).toBe("message");
    if (payload.case === "message") expect([payload.value.role, textOf(payload.value)]).toEqual([Role.AGENT, "hello"]);
  },

  async "gets a long text back unchanged"({ client }) {
    const text = "0123456789abcdeé漢🙂".repeat(2048);
    const { payload } = await client.sendMessage(send(text));
    expect(payload.case === "message" && textOf(payload.value) === text).toBe(true);
  },

  async "is answered by a finished task with its artifact"({ client }) {
    const task = await taskOf(client, send("task"));
    expect([stateOf(task), textOf(task.status?.message)]).toEqual(["COMPLETED", "done"]);
    expect(task.artifacts.map((each) => [each.artifactId, each.name, textOf(each)])).toEqual([
      ["result", "Result", "the result"],
    ]);
    expect(textOf(task.history[0])).toBe("task");
  },

  async "sends twenty messages at once"({ client }) {
    const texts = Array.from({ length: 20 }, (_, index) => `number ${index}`);
    const answers = await Promise.all(texts.map((text) => client.sendMessage(send(text))));
    expect(answers.map(({ payload }) => payload.case === "message" && textOf(payload.value))).toEqual(texts);
  },

  async "streams a message"({ client }) {
    const payloads = await collect(client.sendStreamingMessage(send("message")));
    expect(payloads.map((each) => each.case === "message" && textOf(each.value))).toEqual(["hello"]);
  },

  async "streams a task from its start to its end, and misses no chunk"({ client }) {
    const payloads = await collect(client.sendStreamingMessage(send("stream 100")));
    expect(payloads[0]?.case).toBe("task");
    expect(chunksOf(payloads)).toBe(Array.from({ length: 100 }, (_, index) => `${index},`).join(""));
    expect(lastState(payloads)).toBe("COMPLETED");
  },

  async "leaves a stream, and the task goes on without it"({ client }) {
    let id = "";
    for await (const { response } of client.sendStreamingMessage(send("slow"))) {
      if (response.payload.case === "task") id = response.payload.value.id;
      if (response.payload.case === "statusUpdate") break;
    }
    expect(stateOf(await client.getTask({ id }))).toBe("WORKING");
    await client.cancelTask({ id });
  },

  async "gets a task, with as much history as it wants"({ client }) {
    const { id } = await taskOf(client, send("task"));
    const whole = await client.getTask({ id });
    expect([whole.id, stateOf(whole), whole.artifacts.length]).toEqual([id, "COMPLETED", 1]);
    expect(whole.history.length).toBeGreaterThan(1);
    expect((await client.getTask({ id, historyLength: 1 })).history).toHaveLength(1);
    expect((await client.getTask({ id, historyLength: 0 })).history).toEqual([]);
  },

  async "lists tasks by context and state, page by page"({ client }) {
    const contextId = randomUUID();
    const taskIds = new Set<string>();
    for (const word of ["task", "reject", "task"]) taskIds.add((await taskOf(client, send(word, { contextId }))).id);
    const first = await client.listTasks({ contextId, pageSize: 2 });
    const rest = await client.listTasks({ contextId, pageSize: 2, pageToken: first.nextPageToken });
    expect([first.tasks.length, first.totalSize, rest.tasks.length, rest.nextPageToken]).toEqual([2, 3, 1, ""]);
    expect(new Set([...first.tasks, ...rest.tasks].map(({ id }) => id))).toEqual(taskIds);
    const rejected = await client.listTasks({ contextId, status: TaskState.REJECTED });
    expect(rejected.tasks.map(stateOf)).toEqual(["REJECTED"]);
    const whole = await client.listTasks({ contextId, status: TaskState.COMPLETED, includeArtifacts: true });
    expect(whole.tasks.map(({ artifacts }) => artifacts.length)).toEqual([1, 1]);
  },

  async "cancels a task that runs"({ client }) {
    const { id } = await working(client);
    expect(stateOf(await client.cancelTask({ id }))).toBe("CANCELED");
    expect(stateOf(await client.getTask({ id }))).toBe("CANCELED");
  },

  async "cancels a task that waits for an answer"({ client }) {
    const { id } = await taskOf(client, send("ask"));
    expect(stateOf(await client.cancelTask({ id }))).toBe("CANCELED");
  },

  async "subscribes to a task that runs and follows it to its end"({ client }) {
    const { id } = await working(client);
    const payloads: Payload[] = [];
    for await (const { response } of client.subscribeToTask({ id })) {
      payloads.push(response.payload);
      if (payloads.length === 1) await client.cancelTask({ id });
    }
    expect(payloads[0]?.case).toBe("task");
    expect(lastState(payloads)).toBe("CANCELED");
  },

  async "answers a question and gets the result"({ client }) {
    const { id: taskId, contextId, status } = await taskOf(client, send("ask"));
    expect([stateOf({ status }), textOf(status?.message)]).toEqual(["INPUT_REQUIRED", "which one?"]);
    const answer = await taskOf(client, send("the red one", { taskId, contextId }));
    expect([answer.id, answer.contextId, stateOf(answer)]).toEqual([taskId, contextId, "COMPLETED"]);
    expect(answer.artifacts.map(textOf)).toEqual(["you said the red one"]);
  },

  async "answers a question on a second stream"({ client }) {
    const question = await collect(client.sendStreamingMessage(send("ask")));
    expect(lastState(question)).toBe("INPUT_REQUIRED");
    const task = question.find((each) => each.case === "task")?.value;
    const answer = await collect(client.sendStreamingMessage(send("this one", { taskId: task?.id })));
    expect([chunksOf(answer), lastState(answer)]).toEqual(["you said this one", "COMPLETED"]);
  },

  async "subscribes to a task that waits for an answer"({ client }) {
    const { id } = await taskOf(client, send("ask"));
    for await (const { response } of client.subscribeToTask({ id })) {
      expect(lastState([response.payload])).toBe("INPUT_REQUIRED");
      break;
    }
  },

  async "is told on a stream that it has to log in"({ client }) {
    // Some agents end the stream here, others keep it open until the login.
    const payloads: Payload[] = [];
    for await (const { response } of client.sendStreamingMessage(send("auth"))) {
      if (lastState([...payloads, response.payload]) === "AUTH_REQUIRED") return;
      payloads.push(response.payload);
    }
    expect.fail(`the stream ended with ${lastState(payloads)}`);
  },

  async "is told that it has to log in"({ client }) {
    const task = await taskOf(client, send("auth"));
    expect([stateOf(task), textOf(task.status?.message)]).toEqual(["AUTH_REQUIRED", "log in first"]);
  },

  async "waits for a task that has ended"({ client }) {
    const { id } = await taskOf(client, send("task"));
    expect((await client.wait(id)).state).toBe("completed");
  },

  async "waits for a task that waits for an answer"({ client }) {
    const { id } = await taskOf(client, send("ask"));
    expect((await client.wait(id)).state).toBe("input-required");
  },

  async "is told that a task failed"({ client }) {
    const task = await taskOf(client, send("fail"));
    expect([stateOf(task), textOf(task.status?.message)]).toEqual(["FAILED", "it broke"]);
  },

  async "is told that a task was rejected"({ client }) {
    const task = await taskOf(client, send("reject"));
    expect([stateOf(task), textOf(task.status?.message)]).toEqual(["REJECTED", "not that"]);
  },

  async "creates, gets, lists and deletes a push configuration"({ client }) {
    const { id: taskId } = await working(client);
    const wanted = { taskId, id: "mine", url: "http://127.0.0.1:9/hook", token: "t0ken" };
    const config = await client.createTaskPushNotificationConfig(wanted);
    expect([config.taskId, config.id, config.url]).toEqual([taskId, "mine", wanted.url]);
    const got = await client.getTaskPushNotificationConfig({ taskId, id: "mine" });
    expect([got.taskId, got.id, got.url]).toEqual([taskId, "mine", wanted.url]);
    const ids = async (): Promise<string[]> =>
      (await client.listTaskPushNotificationConfigs({ taskId })).configs.map(({ id }) => id);
    expect(await ids()).toEqual(["mine"]);
    await client.deleteTaskPushNotificationConfig({ taskId, id: "mine" });
    expect(await ids()).toEqual([]);
    await client.cancelTask({ id: taskId });
  },
};
