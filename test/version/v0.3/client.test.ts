import { create } from "@bufbuild/protobuf";
import type { Agent } from "trivium";
import { describe, expect, it } from "vitest";
import { createJsonRpcTransport } from "../../../src/binding/json-rpc/client.js";
import type { CallOptions } from "../../../src/protocol/context.js";
import { artifact, completed, inputRequired, reply, working } from "../../../src/protocol/events.js";
import {
  type Message,
  Role,
  type SendMessageConfiguration,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type StreamResponse,
  SubscribeToTaskRequestSchema,
  type Task,
  TaskPushNotificationConfigSchema,
  TaskState,
} from "../../../src/protocol/model.js";
import {
  findOperation,
  type OperationName,
  type Operations,
  type RequestOf,
  type StreamItem,
} from "../../../src/protocol/operations.js";
import { data, file, text } from "../../../src/protocol/parts.js";
import { defaultValidationLimits } from "../../../src/protocol/validation-limits.js";
import { jsonRpcAdapter } from "../../../src/version/v0.3/json-rpc.js";
import { itemsOf } from "../../support/items.js";
import { type ServedOptions, startAgent } from "../../support/serve-agent.js";

// A client and a server of 0.3 over JSON-RPC, connected by a socket.

const agent: Agent = async function* ({ message, text: word, ask }) {
  if (word === "hello") return yield reply("hi");
  yield working();
  if (word === "ask") await ask(inputRequired("Which?"));
  const [, ...rest] = message.parts;
  yield artifact(rest.length === 0 ? "K4" : rest, { artifactId: "a" });
  yield artifact([data([1, null])], { artifactId: "a", append: true, lastChunk: true });
  yield completed();
};

interface Called extends AsyncDisposable {
  readonly agent: Operations<CallOptions>;
}

async function start(options: Partial<ServedOptions> = {}): Promise<Called> {
  const served = await startAgent("JSONRPC", { agent, ...options });
  const url = `${served.server.url}/json-rpc`;
  return {
    agent: createJsonRpcTransport({ url, adapter: jsonRpcAdapter(defaultValidationLimits) }),
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

describe("a client of 0.3", () => {
  it("a client of 0.3 sends a message and gets the task, with parts of every kind as they were", async () => {
    await using called = await start();
    const bytes = file(Uint8Array.of(0, 255, 62), { filename: "a.bin", mediaType: "application/x" });
    const parts = [bytes, file("https://h/x", { metadata: { n: 1 } }), { ...data({ n: 1 }), mediaType: "" }, text("t")];
    const { payload } = await called.agent.sendMessage(sendOf("go", { parts }), {});
    const task = payload.value as Task;
    expect(task.status?.state).toBe(TaskState.COMPLETED);
    expect(task.artifacts[0]?.parts).toEqual([...parts, { ...data([1, null]), mediaType: "" }]);
    const request = create(findOperation("getTask").input, { id: task.id }) as RequestOf<"getTask">;
    expect(await called.agent.getTask(request, {})).toEqual(task);
    expect((await called.agent.getTask({ ...request, historyLength: 0 }, {})).history).toEqual([]);
  });

  it("a client of 0.3 gets a direct answer", async () => {
    await using called = await start();
    const { payload } = await called.agent.sendMessage(sendOf("hello"), {});
    expect(payload).toMatchObject({ case: "message", value: { role: Role.AGENT } });
  });

  it("a client of 0.3 gets the task at once when it does not want to wait", async () => {
    await using called = await start();
    const { payload } = await called.agent.sendMessage(sendOf("ask", {}, { returnImmediately: true }), {});
    const states: unknown[] = [TaskState.SUBMITTED, TaskState.WORKING];
    expect(states).toContain((payload.value as Task).status?.state);
  });

  it("a client of 0.3 reads a stream from its task to its end", async () => {
    await using called = await start();
    const items = await itemsOf(called.agent.sendStreamingMessage(sendOf("go"), {}));
    const shorts = items.map(({ response }) => shortOf(response));
    expect(shorts).toEqual(["task", "status", "artifact", "artifact", "completed"]);
    expect(items.every(({ id }) => id !== undefined)).toBe(true);
  });

  it("a client of 0.3 resumes after an event that it has seen, without the task first", async () => {
    await using called = await start();
    const items = await itemsOf(called.agent.sendStreamingMessage(sendOf("go"), {}));
    const [first] = items;
    const request = create(SubscribeToTaskRequestSchema, { id: taskIn(first).id });
    const rest = await itemsOf(called.agent.subscribeToTask(request, { after: first?.id }));
    expect(rest).toEqual(items.slice(1));
  });

  it("a client of 0.3 answers a question in the task that asked", async () => {
    await using called = await start();
    const { payload } = await called.agent.sendMessage(sendOf("ask"), {});
    const { id: taskId, contextId, status } = payload.value as Task;
    expect(status).toMatchObject({ state: TaskState.INPUT_REQUIRED, message: { parts: [text("Which?")] } });
    const answer = await called.agent.sendMessage(sendOf("this", { taskId, contextId }), {});
    expect(answer.payload).toMatchObject({ value: { id: taskId, status: { state: TaskState.COMPLETED } } });
  });

  it("a client of 0.3 keeps push configurations", async () => {
    await using called = await start({ push: { allow: "loopback" } });
    const { payload } = await called.agent.sendMessage(sendOf("ask"), {});
    const { id: taskId } = payload.value as Task;
    const authentication = { scheme: "Bearer", credentials: "s" };
    const config = create(TaskPushNotificationConfigSchema, {
      taskId,
      url: "http://127.0.0.1:9/",
      token: "tk",
      authentication,
    });
    const createdConfig = await called.agent.createTaskPushNotificationConfig(config, {});
    const shown = { taskId, id: taskId, token: "", authentication: { scheme: "Bearer", credentials: "" } };
    expect(createdConfig).toMatchObject(shown);
    const one = { taskId, id: taskId };
    const list = requestOf("listTaskPushNotificationConfigs", { taskId });
    expect(
      await called.agent.getTaskPushNotificationConfig(requestOf("getTaskPushNotificationConfig", one), {}),
    ).toEqual(createdConfig);
    expect(await called.agent.listTaskPushNotificationConfigs(list, {})).toMatchObject({
      configs: [shown],
      nextPageToken: "",
    });
    await called.agent.deleteTaskPushNotificationConfig(requestOf("deleteTaskPushNotificationConfig", one), {});
    expect((await called.agent.listTaskPushNotificationConfigs(list, {})).configs).toEqual([]);
  });

  it("a client of 0.3 reads the extended card, or that there is none", async () => {
    const request = requestOf("getExtendedAgentCard", {});
    await using bare = await start();
    await expect(bare.agent.getExtendedAgentCard(request, {})).rejects.toMatchObject({
      code: "extendedAgentCardNotConfigured",
    });
    const card = { name: "T", description: "t", version: "1", extended: { description: "more" } };
    await using called = await start({ card, authenticate: () => ({ owner: "o" }) });
    expect(await called.agent.getExtendedAgentCard(request, {})).toMatchObject({ name: "T", description: "more" });
  });

  it.each([
    ["getTask", { id: "none" }, "taskNotFound"],
    ["cancelTask", { id: "none" }, "taskNotFound"],
    ["getTaskPushNotificationConfig", { taskId: "t", id: "c" }, "pushNotificationNotSupported"],
    ["listTasks", {}, "unsupportedOperation"],
    ["getTask", { id: "" }, "invalidParams"],
  ] as const)("a client of 0.3 reads errors: %s %j is %s", async (name, fields, code) => {
    await using called = await start();
    const call = called.agent[name] as (request: unknown, options: CallOptions) => Promise<unknown>;
    await expect(call(requestOf(name, fields), {})).rejects.toMatchObject({ code });
  });

  it("a client of 0.3 reads errors of streams", async () => {
    await using called = await start();
    const request = create(SubscribeToTaskRequestSchema, { id: "none" });
    await expect(itemsOf(called.agent.subscribeToTask(request, {}))).rejects.toMatchObject({ code: "taskNotFound" });
  });
});

function sendOf(
  word: string,
  { parts = [], ...message }: Partial<Pick<Message, "taskId" | "contextId" | "parts">> = {},
  configuration?: Partial<Pick<SendMessageConfiguration, "returnImmediately">>,
): SendMessageRequest {
  const own = { messageId: crypto.randomUUID(), role: Role.USER, parts: [text(word), ...parts], ...message };
  const request = { message: own, ...(configuration === undefined ? {} : { configuration }) };
  return create(SendMessageRequestSchema, request);
}

function requestOf<K extends OperationName>(name: K, fields: object): RequestOf<K> {
  return create(findOperation(name).input, fields as Record<string, never>) as RequestOf<K>;
}

function shortOf({ payload }: StreamResponse): string {
  if (payload.case === "artifactUpdate") return "artifact";
  if (payload.case !== "statusUpdate") return String(payload.case);
  return payload.value.status?.state === TaskState.COMPLETED ? "completed" : "status";
}

function taskIn(item: StreamItem | undefined): Task {
  const payload = item?.response.payload;
  if (payload?.case !== "task") throw new Error("the stream does not begin with a task");
  return payload.value;
}
