import { create } from "@bufbuild/protobuf";
import { type AgentOptions, artifact, completed, inputRequired, type Server, serve, type Turn, working } from "trivium";
import { describe, expect, it } from "vitest";
import { createGrpcTransport } from "../../src/binding/grpc/client.js";
import { createHttpJsonTransport } from "../../src/binding/http-json/client.js";
import { createJsonRpcTransport } from "../../src/binding/json-rpc/client.js";
import type { CallOptions } from "../../src/protocol/context.js";
import { Role, type SendMessageRequest, SendMessageRequestSchema, TaskState } from "../../src/protocol/model.js";
import type { Operations } from "../../src/protocol/operations.js";
import { adapter as grpcAdapter } from "../support/grpc-agent.js";
import { httpAdapter, rpcAdapter } from "../support/http-agent.js";
import { webhook } from "./receiver.js";

const bindings = ["JSONRPC", "HTTP+JSON", "GRPC"] as const;

const card = { name: "Clerk", description: "Asks, then writes a report", version: "1.0.0" };

async function* clerk({ text, task }: Turn) {
  if (task === undefined && text !== "go") {
    yield inputRequired("what about?");
    return;
  }
  yield artifact("one, ", { artifactId: "report" });
  yield artifact("two", { artifactId: "report", append: true, lastChunk: true });
  yield completed();
}

interface Agent {
  readonly server: Server;
  readonly client: Operations<CallOptions>;
  [Symbol.asyncDispose](): Promise<void>;
}

async function agentOver(binding: (typeof bindings)[number], options: Partial<AgentOptions> = {}): Promise<Agent> {
  const server = await serve({ card, agent: clerk, push: { allow: "loopback" }, port: 0, drainMs: 100, ...options });
  const grpc = createGrpcTransport({ address: `127.0.0.1:${server.port}`, adapter: grpcAdapter });
  const clients = {
    GRPC: grpc,
    JSONRPC: createJsonRpcTransport({ url: `${server.url}/json-rpc`, adapter: rpcAdapter }),
    "HTTP+JSON": createHttpJsonTransport({ url: `${server.url}/http-json`, adapter: httpAdapter }),
  };
  return {
    server,
    client: clients[binding],
    async [Symbol.asyncDispose]() {
      grpc.close();
      await server.close();
    },
  };
}

function say(text: string, changes: { taskId?: string; url?: string; immediately?: boolean } = {}): SendMessageRequest {
  const { taskId = "", url, immediately = false } = changes;
  return create(SendMessageRequestSchema, {
    message: { messageId: "m", role: Role.USER, taskId, parts: [{ content: { case: "text", value: text } }] },
    configuration: {
      returnImmediately: immediately,
      ...(url === undefined ? {} : { taskPushNotificationConfig: { url, token: "n-1" } }),
    },
  });
}

async function openTask(client: Operations<CallOptions>): Promise<string> {
  const { payload } = await client.sendMessage(say("hello"), {});
  if (payload.case !== "task") throw new TypeError("no task");
  expect(payload.value.status?.state).toBe(TaskState.INPUT_REQUIRED);
  return payload.value.id;
}

const config = (taskId: string, url: string, id = "") =>
  ({
    $typeName: "lf.a2a.v1.TaskPushNotificationConfig",
    tenant: "",
    id,
    taskId,
    url,
    token: "n-1",
    authentication: { $typeName: "lf.a2a.v1.AuthenticationInfo", scheme: "Bearer", credentials: "s-1" },
  }) as const;

const one = (taskId: string, id: string) =>
  ({ $typeName: "lf.a2a.v1.GetTaskPushNotificationConfigRequest", tenant: "", taskId, id }) as const;

const isGone = (taskId: string, id: string) =>
  ({ $typeName: "lf.a2a.v1.DeleteTaskPushNotificationConfigRequest", tenant: "", taskId, id }) as const;

const listed = (taskId: string) =>
  ({
    $typeName: "lf.a2a.v1.ListTaskPushNotificationConfigsRequest",
    tenant: "",
    taskId,
    pageSize: 0,
    pageToken: "",
  }) as const;

// Requirements: V1-PUSH-3
describe.each(bindings)("push notifications of a served agent over %s", (binding) => {
  // Requirements: V1-PCFG-2, V1-PCFG-3
  it("push configurations are set, returned without credentials, delivered, and kept after the task ends", async () => {
    await using hook = await webhook();
    await using agent = await agentOver(binding);
    const { client } = agent;
    const taskId = await openTask(client);
    const created = await client.createTaskPushNotificationConfig(config(taskId, hook.url), {});
    expect(created).toMatchObject({ taskId, url: hook.url, authentication: { scheme: "Bearer", credentials: "" } });
    expect(created.id).not.toBe("");
    const second = await client.createTaskPushNotificationConfig(config(taskId, `${hook.url}/2`, "mine"), {});
    expect(second.id).toBe("mine");
    expect(await client.getTaskPushNotificationConfig(one(taskId, created.id), {})).toEqual(created);
    const before = await client.listTaskPushNotificationConfigs(listed(taskId), {});
    expect(before.configs).toEqual([created, second]);
    await client.deleteTaskPushNotificationConfig(isGone(taskId, "mine"), {});
    await client.deleteTaskPushNotificationConfig(isGone(taskId, "mine"), {});
    await client.sendMessage(say("ships", { taskId }), {});
    await hook.untilReceived(3);
    const after = await client.listTaskPushNotificationConfigs(listed(taskId), {});
    expect(after.configs).toEqual([created]);
    await agent.server.close();
    expect(hook.labels).toEqual(["WORKING", "report=one, two!", "COMPLETED"]);
    expect(hook.calls.map(({ path }) => path)).toEqual(["/hook", "/hook", "/hook"]);
    expect(hook.calls[0]?.headers).toMatchObject({ authorization: "Bearer s-1", "x-a2a-notification-token": "n-1" });
  });

  it("a push configuration may be part of a send, for a new and a continued task", async () => {
    await using hook = await webhook();
    await using agent = await agentOver(binding);
    await agent.client.sendMessage(say("go", { url: hook.url, immediately: true }), {});
    await hook.untilReceived(2);
    expect(hook.labels).toEqual(["report=one, two!", "COMPLETED"]);
    const taskId = await openTask(agent.client);
    await agent.client.sendMessage(say("ships", { taskId, url: hook.url }), {});
    await hook.untilReceived(5);
    expect(hook.labels.slice(2)).toEqual(["WORKING", "report=one, two!", "COMPLETED"]);
    expect(JSON.parse(hook.calls.at(-1)?.text ?? "")).toMatchObject({ statusUpdate: { taskId } });
  });

  it("push configurations are refused for a forbidden webhook, and for an invalid header", async () => {
    await using agent = await agentOver(binding);
    const taskId = await openTask(agent.client);
    const wrong = { ...config(taskId, "http://10.0.0.1/hook"), token: "a\nb" };
    await expect(agent.client.createTaskPushNotificationConfig(wrong, {})).rejects.toMatchObject({
      code: "invalidParams",
      violations: expect.arrayContaining([expect.objectContaining({ field: "token" })]),
    });
    const inline = say("go", { url: "http://10.0.0.1/hook" });
    await expect(agent.client.sendMessage(inline, {})).rejects.toMatchObject({
      code: "invalidParams",
      violations: [expect.objectContaining({ field: "configuration.taskPushNotificationConfig.url" })],
    });
  });

  it("push configurations are at most ten for a task", async () => {
    await using hook = await webhook();
    await using agent = await agentOver(binding);
    const taskId = await openTask(agent.client);
    for (let count = 0; count < 10; count++) {
      await agent.client.createTaskPushNotificationConfig(config(taskId, hook.url, `p${count}`), {});
    }
    await expect(
      agent.client.createTaskPushNotificationConfig(config(taskId, hook.url, "p10"), {}),
    ).rejects.toMatchObject({ code: "invalidParams" });
    await agent.client.createTaskPushNotificationConfig(config(taskId, hook.url, "p9"), {});
  });

  it("push notifications are not supported unless enabled", async () => {
    await using agent = await agentOver(binding, { push: undefined });
    expect(agent.server.card.capabilities?.pushNotifications).toBe(false);
    const taskId = await openTask(agent.client);
    const unsupported = { code: "pushNotificationNotSupported" };
    const { client } = agent;
    await expect(client.createTaskPushNotificationConfig(config(taskId, "http://x.example"), {})).rejects.toMatchObject(
      unsupported,
    );
    await expect(client.listTaskPushNotificationConfigs(listed(taskId), {})).rejects.toMatchObject(unsupported);
    await expect(client.getTaskPushNotificationConfig(one(taskId, "p"), {})).rejects.toMatchObject(unsupported);
    await expect(client.deleteTaskPushNotificationConfig(isGone(taskId, "p"), {})).rejects.toMatchObject(unsupported);
    await expect(client.sendMessage(say("go", { url: "http://x.example" }), {})).rejects.toMatchObject(unsupported);
  });

  it("push configurations are refused for an unknown task", async () => {
    await using agent = await agentOver(binding);
    const { client } = agent;
    const missing = { code: "taskNotFound" };
    await expect(
      client.createTaskPushNotificationConfig(config("none", "http://localhost/"), {}),
    ).rejects.toMatchObject(missing);
    await expect(client.listTaskPushNotificationConfigs(listed("none"), {})).rejects.toMatchObject(missing);
    const taskId = await openTask(client);
    await expect(client.getTaskPushNotificationConfig(one(taskId, "none"), {})).rejects.toMatchObject(missing);
  });
});

describe("a served agent", () => {
  it("a served agent is not delayed by a webhook that never answers", async () => {
    await using hook = await webhook();
    hook.answer = () => undefined;
    await using agent = await agentOver("JSONRPC");
    const { payload } = await agent.client.sendMessage(say("go", { url: hook.url }), {});
    expect(payload).toMatchObject({ case: "task", value: { status: { state: TaskState.COMPLETED } } });
    await hook.untilReceived(1);
    expect(hook.labels).toEqual(["report=one, two!"]);
  });

  it("a served agent sends the events of the last turns before it closes", async () => {
    await using hook = await webhook();
    await using agent = await agentOver("JSONRPC", {
      agent: async ({ emit, signal }) => {
        await emit(working());
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    });
    await agent.client.sendMessage(say("go", { url: hook.url, immediately: true }), {});
    await hook.untilReceived(1);
    await agent.server.close();
    expect(hook.labels).toEqual(["WORKING", "FAILED"]);
  });

  it.each([{ allow: "everything" }, { allow: ["http://x"] }, { allow: "public", every: "chunk" }])(
    "a served agent does not start with push options %j",
    async (push) => {
      await expect(serve({ card, agent: clerk, port: 0, push: push as AgentOptions["push"] })).rejects.toThrow(
        /push\./,
      );
    },
  );
});
