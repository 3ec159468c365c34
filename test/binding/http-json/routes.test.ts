import { describe, expect, it } from "vitest";
import type { OperationName } from "../../../src/protocol/operations.js";
import { recordingAgent as agent, ask } from "../../support/recording-agent.js";

const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] };

interface Way {
  readonly call: string;
  readonly body?: unknown;
  readonly name: OperationName;
  readonly fields: object;
}

const push = { url: "https://hook.example" };
const ways: readonly Way[] = [
  { call: "POST /message:send", body: { message }, name: "sendMessage", fields: { tenant: "" } },
  { call: "POST /north/message:send", body: { message }, name: "sendMessage", fields: { tenant: "north" } },
  { call: "POST /message:send?tenant=n", body: { message }, name: "sendMessage", fields: { tenant: "n" } },
  { call: "POST /message:send", body: { message, tenant: "n" }, name: "sendMessage", fields: { tenant: "n" } },
  { call: "POST /n/message:send", body: { message, tenant: "n" }, name: "sendMessage", fields: { tenant: "n" } },
  { call: "GET /tasks/t-1?historyLength=2", name: "getTask", fields: { id: "t-1", historyLength: 2 } },
  { call: "GET /tasks/t-1?id=t-1&A2A-Version=1.0", name: "getTask", fields: { id: "t-1" } },
  { call: "GET /tasks/a%2Fb%20%C3%A9%3Acancel", name: "getTask", fields: { id: "a/b é:cancel" } },
  { call: "GET /tasks/t:1", name: "getTask", fields: { id: "t:1" } },
  { call: "GET /north/tasks/t-1", name: "getTask", fields: { id: "t-1", tenant: "north" } },
  { call: "GET /tasks/t-1?tenant=north", name: "getTask", fields: { id: "t-1", tenant: "north" } },
  { call: "GET /tasks/tasks", name: "getTask", fields: { id: "tasks", tenant: "" } },
  { call: "GET /tasks?pageSize=5&status=TASK_STATE_WORKING", name: "listTasks", fields: { pageSize: 5, status: 2 } },
  { call: "GET /north/tasks", name: "listTasks", fields: { tenant: "north" } },
  { call: "POST /tasks/t-1:cancel", name: "cancelTask", fields: { id: "t-1" } },
  { call: "POST /tasks/t-1:cancel", body: {}, name: "cancelTask", fields: { id: "t-1" } },
  { call: "POST /tasks/t-1:cancel", body: "null", name: "cancelTask", fields: { id: "t-1" } },
  { call: "POST /n/tasks/t-1:cancel", body: { id: "t-1" }, name: "cancelTask", fields: { id: "t-1", tenant: "n" } },
  { call: "GET /tasks/t-1:subscribe", name: "subscribeToTask", fields: { id: "t-1" } },
  { call: "POST /tasks/t-1:subscribe", name: "subscribeToTask", fields: { id: "t-1" } },
  { call: "POST /tasks/t-1:subscribe", body: {}, name: "subscribeToTask", fields: { id: "t-1" } },
  ...(["taskId", "task_id", "none"] as const).map((member) => ({
    call: "POST /tasks/t-1/pushNotificationConfigs",
    body: member === "none" ? push : { ...push, [member]: "t-1" },
    name: "createTaskPushNotificationConfig" as const,
    fields: { taskId: "t-1", url: push.url },
  })),
  {
    call: "GET /tasks/t-1/pushNotificationConfigs/c-1",
    name: "getTaskPushNotificationConfig",
    fields: { taskId: "t-1", id: "c-1" },
  },
  {
    call: "GET /tasks/t-1/pushNotificationConfigs",
    name: "listTaskPushNotificationConfigs",
    fields: { taskId: "t-1" },
  },
  {
    call: "DELETE /n/tasks/t-1/pushNotificationConfigs/c-1",
    name: "deleteTaskPushNotificationConfig",
    fields: { taskId: "t-1", id: "c-1", tenant: "n" },
  },
  { call: "GET /extendedAgentCard", name: "getExtendedAgentCard", fields: {} },
];

describe("routes", () => {
  it.each(ways)("the request $call $body calls $name", async ({ call, body, name, fields }) => {
    await using served = await agent();
    const { status, text } = await ask(served.base, call, body);
    expect({ status, text }).toMatchObject({ status: 200 });
    expect(served.called).toEqual([{ name, request: expect.objectContaining(fields) }]);
  });

  it.each([
    { call: "GET /nope", status: 404 },
    { call: "GET /", status: 404 },
    { call: "GET /tasks/", status: 404 },
    { call: "GET /tasks//pushNotificationConfigs", status: 404 },
    { call: "GET /a/b/c/d/e/f/g", status: 404 },
    { call: "GET /tasks/%zz", status: 400 },
    { call: "GET /tasks/%ff", status: 400 },
    { call: "GET /%c0%af/tasks", status: 400 },
    { call: "GET /message:send", status: 405, allow: "POST, OPTIONS" },
    { call: "GET /tasks/t-1:cancel", status: 405, allow: "POST, OPTIONS" },
    { call: "DELETE /tasks/t-1:subscribe", status: 405, allow: "GET, POST, OPTIONS" },
    { call: "PUT /tasks/t-1/pushNotificationConfigs", status: 405, allow: "POST, GET, OPTIONS" },
    { call: "HEAD /tasks", status: 405, allow: "GET, OPTIONS" },
    { call: "OPTIONS /tasks/t-1:subscribe", status: 204, allow: "GET, POST, OPTIONS" },
    { call: "OPTIONS /%zz", status: 400 },
  ])("the request $call is answered with $status", async ({ call, status, allow }) => {
    await using served = await agent();
    const reply = await ask(served.base, call);
    expect({ status: reply.status, allow: sorted(reply.headers.allow) }).toEqual({ status, allow: sorted(allow) });
    if (status !== 204 && !call.startsWith("HEAD")) {
      expect(JSON.parse(reply.text)).toMatchObject({ error: { code: status, message: expect.any(String) } });
    }
    expect(served.called).toEqual([]);
  });

  it.each([
    { call: "POST /n/message:send", body: { message, tenant: "m" }, field: "tenant" },
    { call: "POST /n/message:send?tenant=m", body: { message }, field: "tenant" },
    { call: "POST /message:send?tenant=m", body: { message, tenant: "n" }, field: "tenant" },
    { call: "POST /message:send?tenant=m&tenant=n", body: { message }, field: "tenant" },
    { call: "GET /tasks/a?id=b", field: "id" },
    { call: "GET /n/tasks?tenant=m", field: "tenant" },
    { call: "POST /tasks/a:cancel", body: { id: "b" }, field: "id" },
    { call: "POST /tasks/a/pushNotificationConfigs", body: { ...push, taskId: "b" }, field: "taskId" },
    { call: "POST /tasks/a/pushNotificationConfigs", body: { ...push, task_id: "b" }, field: "taskId" },
    { call: "POST /tasks/a/pushNotificationConfigs", body: { ...push, taskId: 7 }, field: "taskId" },
  ])("the HTTP+JSON server refuses $call $body, which contradicts itself in $field", async ({ call, body, field }) => {
    await using served = await agent();
    const { status, text } = await ask(served.base, call, body);
    expect(status).toBe(400);
    expect(JSON.parse(text).error.details[1]).toMatchObject({ fieldViolations: [{ field }] });
    expect(served.called).toEqual([]);
  });

  it.each(["[]", '"x"', "7", "{", "\u0000"])("the HTTP+JSON server refuses the body %j", async (body) => {
    await using served = await agent();
    const { status, text } = await ask(served.base, "POST /message:send", body);
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({ error: { code: 400, status: "INVALID_ARGUMENT" } });
  });
});

function sorted(list: string | undefined): readonly string[] | undefined {
  return list?.split(", ").sort();
}
