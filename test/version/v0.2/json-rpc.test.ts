import { createServer } from "node:http";
import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it } from "vitest";
import { createJsonRpcTransport } from "../../../src/binding/json-rpc/client.js";
import type { CallOptions } from "../../../src/protocol/context.js";
import { A2AError } from "../../../src/protocol/errors.js";
import { completed, working } from "../../../src/protocol/events.js";
import {
  findOperation,
  type OperationName,
  type Operations,
  type RequestOf,
} from "../../../src/protocol/operations.js";
import type { JsonRpcAdapter } from "../../../src/version/codec.js";
import { createV02 } from "../../../src/version/v0.2/v02.js";
import { type HttpServer, serveHttp } from "../../support/http-agent.js";
import { httpLine, json } from "../../support/raw-http.js";
import { hello } from "../../support/requests.js";
import { startAgent } from "../../support/serve-agent.js";

const v02 = createV02();
const adapter: JsonRpcAdapter = v02.jsonRpc ?? missing();

describe("0.2", () => {
  it("version 0.2 has JSON-RPC alone, and declares no version", () => {
    expect(v02.name).toBe("0.2");
    expect([v02.httpJson, v02.grpc]).toEqual([undefined, undefined]);
    expect(adapter).toMatchObject({ version: "0.2", isImplied: true, declares: undefined });
  });

  it("version 0.2 has the methods of 0.3 but for the extended card", () => {
    expect([...adapter.methods.keys()]).toEqual([
      "message/send",
      "message/stream",
      "tasks/get",
      "tasks/cancel",
      "tasks/resubscribe",
      "tasks/pushNotificationConfig/set",
      "tasks/pushNotificationConfig/get",
      "tasks/pushNotificationConfig/list",
      "tasks/pushNotificationConfig/delete",
    ]);
    expect(adapter.findMethod(findOperation("getExtendedAgentCard"))).toBeUndefined();
    expect(adapter.findMethod(findOperation("listTasks"))).toBeUndefined();
  });

  it.each([
    ["https://h/a2a/v1", "https://h/a2a/agent/authenticatedExtendedCard"],
    ["https://h/a2a/v1/", "https://h/a2a/v1/agent/authenticatedExtendedCard"],
    ["https://h", "https://h/agent/authenticatedExtendedCard"],
    ["https://h/rpc?x=1", "https://h/agent/authenticatedExtendedCard"],
  ])("a client of 0.2 reads the extended card of %s at %s", (url, card) => {
    expect(adapter.extendedCardUrl?.(url)).toBe(card);
  });

  it("version 0.2 never sends -32007, which it does not define", () => {
    const error = new A2AError("extendedAgentCardNotConfigured", "none");
    expect(adapter.writeError(error, undefined)).toEqual({
      code: -32004,
      message: "This operation is not supported: none",
    });
    const other = new A2AError("taskNotCancelable", "none");
    expect(adapter.writeError(other, undefined)).toEqual({ code: -32002, message: "none" });
  });

  it("a send of 0.2 always has its output modes, which are required", () => {
    expect(adapter.codec(findOperation("sendMessage")).writeRequest(hello)).toMatchObject({
      configuration: { acceptedOutputModes: [] },
    });
  });

  it("a client of 0.2 asks for a push configuration without an id by the task alone", () => {
    expect(adapter.codec(findOperation("getTaskPushNotificationConfig")).writeRequest(configOf("get", ""))).toEqual({
      id: "t",
    });
  });
});

describe("a server of 0.2 alone", () => {
  const options = {
    versions: ["0.2"] as const,
    agent: async function* () {
      yield working();
      yield completed();
    },
  };

  it("a server of 0.2 alone answers kind-JSON, and has no method for the extended card", async () => {
    await using served = await startAgent("JSONRPC", options);
    using line = httpLine(Number(new URL(served.server.url).port));
    const post = async (method: string, params: JsonValue): Promise<JsonObject> => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
      return JSON.parse((await line.ask({ target: "/json-rpc", headers: json, body })).text) as JsonObject;
    };
    const message = { messageId: "m", role: "user", parts: [{ text: "hi" }] };
    expect(await post("message/send", { message })).toMatchObject({
      result: { kind: "task", status: { state: "completed" } },
    });
    expect(await post("agent/getAuthenticatedExtendedCard", {})).toMatchObject({ error: { code: -32601 } });
  });

  it("a server of 0.2 alone answers a GET of the extended card with the card, or 404 if there is none", async () => {
    const card = { name: "T", description: "t", version: "1" };
    for (const [extended, status] of [
      [{ description: "more" }, 200],
      [undefined, 404],
    ] as const) {
      await using served = await startAgent("JSONRPC", {
        ...options,
        card: { ...card, extended },
        authenticate: ({ header }) => ({ owner: header("authorization") ?? "nobody" }),
      });
      using line = httpLine(Number(new URL(served.server.url).port));
      const answer = await line.ask({ method: "GET", target: "/agent/authenticatedExtendedCard" });
      expect(answer.status).toBe(status);
      if (status === 200) expect(JSON.parse(answer.text)).toMatchObject({ description: "more", capabilities: {} });
    }
  });
});

describe("a client of an agent older than 0.2.5", () => {
  const servers: HttpServer[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
  });

  /** An agent with some methods only that records its requests. */
  async function agentWith(
    methods: { readonly [method: string]: JsonObject },
    requests: JsonObject[] = [],
  ): Promise<Operations<CallOptions>> {
    const server = createServer((request, response) => {
      let text = "";
      request.on("data", (piece) => {
        text += String(piece);
      });
      request.on("end", () => {
        const call = JSON.parse(text) as { method: string; id: number; params: JsonObject };
        requests.push({ [call.method]: call.params });
        const answer = methods[call.method] ?? { error: { code: -32601, message: "Method not found" } };
        response.setHeader("Content-Type", "application/json");
        response.end(JSON.stringify({ jsonrpc: "2.0", id: call.id, ...answer }));
      });
    });
    const served = await serveHttp(server);
    servers.push(served);
    return createJsonRpcTransport({ url: served.url, adapter });
  }

  const get = "tasks/pushNotificationConfig/get";
  const one = { taskId: "t", pushNotificationConfig: { url: "https://h" } };

  it("a client of an agent older than 0.2.5 finds the one configuration of a task, not a list", async () => {
    const requests: JsonObject[] = [];
    const agent = await agentWith({ [get]: { result: one } }, requests);
    const { configs } = await agent.listTaskPushNotificationConfigs(configOf("list"), {});
    expect(configs).toMatchObject([{ taskId: "t", url: "https://h" }]);
    expect(requests.at(-1)).toEqual({ [get]: { id: "t" } });
  });

  it.each([
    [{ code: -32001, message: "none" }],
    [{ code: -32603, message: "Push notification config not found for task t." }],
  ])("a client of an agent older than 0.2.5 takes %j for an empty list of push configurations", async (error) => {
    const agent = await agentWith({ [get]: { error } });
    expect(await agent.listTaskPushNotificationConfigs(configOf("list"), {})).toMatchObject({ configs: [] });
  });

  it("a client of an agent older than 0.2.5 does not take another failure for an empty list", async () => {
    const agent = await agentWith({ [get]: { error: { code: -32603, message: "disk full" } } });
    await expect(agent.listTaskPushNotificationConfigs(configOf("list"), {})).rejects.toMatchObject({
      code: "internalError",
      message: "disk full",
    });
  });

  it("a client of an agent older than 0.2.5 cannot delete a push configuration", async () => {
    const agent = await agentWith({});
    await expect(agent.deleteTaskPushNotificationConfig(configOf("delete", "c"), {})).rejects.toMatchObject({
      code: "unsupportedOperation",
    });
  });

  it("a client of 0.2 lists and deletes configurations where the agent can, also without an answer", async () => {
    const agent = await agentWith({
      "tasks/pushNotificationConfig/list": { result: [one, one] },
      "tasks/pushNotificationConfig/delete": {},
    });
    expect((await agent.listTaskPushNotificationConfigs(configOf("list"), {})).configs).toHaveLength(2);
    expect(await agent.deleteTaskPushNotificationConfig(configOf("delete", "c"), {})).toBeDefined();
  });

  it("a client of an agent older than 0.2.5 does not ask for a list of tasks", async () => {
    const requests: JsonObject[] = [];
    const agent = await agentWith({}, requests);
    const list = create(findOperation("listTasks").input) as RequestOf<"listTasks">;
    await expect(agent.listTasks(list, {})).rejects.toMatchObject({ code: "unsupportedOperation" });
    expect(requests).toEqual([]);
  });
});

type ConfigWord = "get" | "list" | "delete";
interface ConfigRequests {
  readonly get: RequestOf<"getTaskPushNotificationConfig">;
  readonly list: RequestOf<"listTaskPushNotificationConfigs">;
  readonly delete: RequestOf<"deleteTaskPushNotificationConfig">;
}

function configOf<W extends ConfigWord>(word: W, id?: string): ConfigRequests[W] {
  const names = {
    get: "getTaskPushNotificationConfig",
    list: "listTaskPushNotificationConfigs",
    delete: "deleteTaskPushNotificationConfig",
  } as const satisfies Record<ConfigWord, OperationName>;
  return create(
    findOperation(names[word]).input,
    id === undefined ? { taskId: "t" } : { taskId: "t", id },
  ) as ConfigRequests[W];
}

function missing(): never {
  throw new TypeError("0.2 has JSON-RPC");
}
