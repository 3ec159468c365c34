import { create } from "@bufbuild/protobuf";
import type { Service } from "../../src/binding/service.js";
import { TaskPushNotificationConfigSchema, TaskSchema } from "../../src/protocol/model.js";
import { findOperation, type OperationName } from "../../src/protocol/operations.js";
import { echo, serviceOf, statusItem } from "./echo-service.js";
import { httpAgent, type RawReply, rawCall } from "./http-agent.js";

interface RecordedCall {
  readonly name: OperationName;
  readonly request: unknown;
}

/** An agent over both JSON bindings that records its calls. */
export async function recordingAgent(changes: Partial<Service> = {}) {
  const calls: RecordedCall[] = [];
  const task = (name: OperationName) => async (request: { readonly id: string }) => {
    calls.push({ name, request });
    return create(TaskSchema, { id: request.id });
  };
  const config = (name: OperationName) => async (request: { readonly taskId: string; readonly id: string }) => {
    calls.push({ name, request });
    const { taskId, id } = request;
    return create(TaskPushNotificationConfigSchema, { taskId, id, url: "https://x.example" });
  };
  const emptyReply = (name: OperationName) => async (request: unknown) => {
    calls.push({ name, request });
    return create(findOperation(name).output) as never;
  };
  const service = serviceOf(
    {
      sendMessage: async (request) => {
        calls.push({ name: "sendMessage", request });
        return echo(request);
      },
      async *subscribeToTask(request) {
        calls.push({ name: "subscribeToTask", request });
        yield statusItem(1);
      },
      getTask: task("getTask"),
      cancelTask: task("cancelTask"),
      listTasks: emptyReply("listTasks"),
      getExtendedAgentCard: emptyReply("getExtendedAgentCard"),
      createTaskPushNotificationConfig: config("createTaskPushNotificationConfig"),
      getTaskPushNotificationConfig: config("getTaskPushNotificationConfig"),
      listTaskPushNotificationConfigs: emptyReply("listTaskPushNotificationConfigs"),
      deleteTaskPushNotificationConfig: emptyReply("deleteTaskPushNotificationConfig"),
    },
    changes,
  );
  const agent = await httpAgent(service);
  return Object.assign(agent, { called: calls, base: `${agent.url}/http-json` });
}

/** One HTTP+JSON call, written as `GET /tasks`. */
export const json = { "Content-Type": "application/json" };

export function ask(
  base: string,
  call: string,
  body?: unknown,
  headers: Record<string, string> = json,
): Promise<RawReply> {
  const [method = "", path = ""] = call.split(" ");
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  return rawCall(base + path, { method, headers, ...(text === undefined ? {} : { body: text }) });
}
