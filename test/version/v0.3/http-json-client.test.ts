import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { equals, type JsonObject } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createHttpJsonTransport } from "../../../src/binding/http-json/client.js";
import { httpJsonEndpoint } from "../../../src/binding/http-json/server.js";
import type { CallOptions } from "../../../src/protocol/context.js";
import { type SendMessageRequest, SendMessageRequestSchema } from "../../../src/protocol/model.js";
import type { Operations } from "../../../src/protocol/operations.js";
import { file } from "../../../src/protocol/parts.js";
import { httpJsonAdapters } from "../../../src/version/v0.3/http-json.js";
import { echo, serviceOf } from "../../support/echo-service.js";
import { serveEndpoint, serveHttp } from "../../support/http-agent.js";
import { itemsOf } from "../../support/items.js";
import { errorOf, messageOf, requestOf, say, stateOf, taskOf } from "../../support/say.js";
import { validSend } from "./proto-arbitrary.js";
import { startRest } from "./proto-served.js";

interface Seen {
  readonly call: string;
  readonly body: JsonObject | undefined;
  readonly headers: IncomingMessage["headers"];
}

type Answer = (request: Seen) => { readonly status?: number; readonly type?: string; readonly text: string };

/** A foreign server with custom responses, and a 0.3 client for it. */
async function stranger(answer: Answer) {
  const requests: Seen[] = [];
  const server = createServer((request, response) => void handle(request, response));
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = "";
    for await (const piece of request.setEncoding("utf8")) text += String(piece);
    const body = text === "" ? undefined : (JSON.parse(text) as JsonObject);
    const one = { call: `${request.method} ${request.url}`, body, headers: request.headers };
    requests.push(one);
    const { status = 200, type = "application/json", text: reply } = answer(one);
    response.writeHead(status, { "Content-Type": type }).end(reply);
  };
  const served = await serveHttp(server);
  return {
    requests,
    client: clientOf(served.url),
    url: served.url,
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

function clientOf(url: string): Operations<CallOptions> {
  const [adapter] = httpJsonAdapters();
  return createHttpJsonTransport({ url, adapter });
}

const events = (...all: readonly object[]): string => all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
const task = { id: "t", contextId: "c", status: { state: "TASK_STATE_WORKING" } };
const subscribe = requestOf("subscribeToTask", { id: "t" });
const config = requestOf("createTaskPushNotificationConfig", { taskId: "t", id: "c", url: "https://h.example" });
const configJson = {
  name: "tasks/t/pushNotificationConfigs/c",
  pushNotificationConfig: { id: "c", url: "https://h.example" },
};

describe("a client of 0.3 over HTTP+JSON", () => {
  it("a client of 0.3 over HTTP+JSON has every operation of our own server, but for the list of tasks", async () => {
    await using rest = await startRest({
      card: { name: "Quay", description: "d", version: "1", extended: { description: "more" } },
      authenticate: () => ({ owner: "me" }),
    });
    const client = clientOf(`${rest.served.server.url}/http-json`);
    expect(messageOf(await client.sendMessage(say("hello"), {})).parts).toMatchObject([{ content: { value: "hi" } }]);
    const question = taskOf(await client.sendMessage(say("ask"), {}));
    expect(stateOf(question)).toBe("INPUT_REQUIRED");
    const { id } = question;
    expect((await client.getTask(requestOf("getTask", { id }), {})).history).toHaveLength(2);
    expect((await client.getTask(requestOf("getTask", { id, historyLength: 0 }), {})).history).toHaveLength(0);
    const createdConfig = await client.createTaskPushNotificationConfig(
      { ...config, taskId: id, url: "http://127.0.0.1:9/" },
      {},
    );
    expect(createdConfig).toMatchObject({ taskId: id, id: "c", url: "http://127.0.0.1:9/" });
    const one = { taskId: id, id: "c" };
    expect(await client.getTaskPushNotificationConfig(requestOf("getTaskPushNotificationConfig", one), {})).toEqual(
      createdConfig,
    );
    const list = requestOf("listTaskPushNotificationConfigs", { taskId: id });
    expect((await client.listTaskPushNotificationConfigs(list, {})).configs).toEqual([createdConfig]);
    await client.deleteTaskPushNotificationConfig(requestOf("deleteTaskPushNotificationConfig", one), {});
    expect((await client.listTaskPushNotificationConfigs(list, {})).configs).toEqual([]);
    expect(stateOf(await client.cancelTask(requestOf("cancelTask", { id }), {}))).toBe("CANCELED");
    const streamed = await itemsOf(client.subscribeToTask(requestOf("subscribeToTask", { id }), {}));
    expect(streamed.map(({ response }) => response.payload.case)).toEqual(["task", "statusUpdate"]);
    const items = await itemsOf(client.sendStreamingMessage(say("berth"), {}));
    expect(items.map(({ response }) => response.payload.case)).toEqual([
      "task",
      "statusUpdate",
      "artifactUpdate",
      "statusUpdate",
    ]);
    expect(items.every(({ id: eventId }) => eventId !== undefined)).toBe(true);
    expect((await client.getExtendedAgentCard(requestOf("getExtendedAgentCard"), {})).description).toBe("more");
    expect(await errorOf(client.getTask(requestOf("getTask", { id: "nope" }), {}))).toMatchObject({
      code: "taskNotFound",
    });
    expect(await errorOf(client.listTasks(requestOf("listTasks"), {}))).toMatchObject({ code: "unsupportedOperation" });
  });

  // Requirements: V03-SEND-8
  it("a client of 0.3 over HTTP+JSON sends its version, whether to wait, and only what 0.3 knows", async () => {
    await using peer = await stranger(() => ({ text: JSON.stringify({ task }) }));
    const configuration = { returnImmediately: true, historyLength: 0 };
    await peer.client.sendMessage(say("a", { messageId: "m", referenceTaskIds: ["x"], configuration }), {});
    const [{ call, headers, body } = expect.fail("nothing was sent")] = peer.requests;
    expect([call, headers["a2a-version"], headers["content-type"]]).toEqual([
      "POST /v1/message:send",
      "0.3",
      "application/json",
    ]);
    expect(body).toEqual({
      message: { messageId: "m", role: "ROLE_USER", content: [{ text: "a" }] },
      configuration: { blocking: false },
    });
  });

  // Requirements: V03-REST-7
  it.each([200, 201, 202])(
    "a client of 0.3 over HTTP+JSON takes status %i for a success, and any name for a cancelled task",
    async (status) => {
      const states = ["TASK_STATE_CANCELED", "TASK_STATE_CANCELLED", 5];
      for (const state of states) {
        await using peer = await stranger(() => ({ status, text: JSON.stringify({ ...task, status: { state } }) }));
        expect(stateOf(await peer.client.cancelTask(requestOf("cancelTask", { id: "t" }), {}))).toBe("CANCELED");
        expect(peer.requests).toMatchObject([{ call: "POST /v1/tasks/t:cancel", body: {} }]);
      }
    },
  );

  it.each([404, 405])(
    "a client of 0.3 over HTTP+JSON subscribes by GET, and by POST where that is %i",
    async (status) => {
      const all = events(
        { task },
        { statusUpdate: { taskId: "t", contextId: "c", status: { state: 3 }, final: true } },
      );
      await using peer = await stranger(({ call }) =>
        call.startsWith("GET") ? { status, text: "no" } : { type: "text/event-stream", text: all },
      );
      const items = await itemsOf(peer.client.subscribeToTask(subscribe, {}));
      expect(items).toHaveLength(2);
      expect(peer.requests).toMatchObject([
        { call: "GET /v1/tasks/t:subscribe" },
        { call: "POST /v1/tasks/t:subscribe", body: {} },
      ]);
    },
  );

  // Requirements: V03-REST-7
  it.each([{ configs: [configJson] }, [configJson], { configs: [{ ...configJson, name: "None" }] }])(
    "a client of 0.3 over HTTP+JSON reads a list of webhooks: %j",
    async (json) => {
      await using peer = await stranger(() => ({ text: JSON.stringify(json) }));
      const { configs } = await peer.client.listTaskPushNotificationConfigs(
        requestOf("listTaskPushNotificationConfigs", { taskId: "t" }),
        {},
      );
      expect(configs).toMatchObject([{ id: "c", taskId: "t", url: "https://h.example" }]);
    },
  );

  it.each(["", "null", "{}"])("a client of 0.3 over HTTP+JSON takes the answer %j for a deletion", async (text) => {
    await using peer = await stranger(() => ({ status: 200, text }));
    const one = requestOf("deleteTaskPushNotificationConfig", { taskId: "t", id: "c" });
    await expect(peer.client.deleteTaskPushNotificationConfig(one, {})).resolves.toBeDefined();
    expect(peer.requests).toMatchObject([{ call: "DELETE /v1/tasks/t/pushNotificationConfigs/c" }]);
  });

  it("a client of 0.3 over HTTP+JSON sends a webhook in the form that the server wants", async () => {
    await using peer = await stranger(({ body }) =>
      body?.["config"] === undefined
        ? { status: 201, text: JSON.stringify(configJson) }
        : { status: 400, text: JSON.stringify({ code: -32602, message: "bad" }) },
    );
    for (let count = 0; count < 2; count++) {
      expect(await peer.client.createTaskPushNotificationConfig(config, {})).toMatchObject({ id: "c", taskId: "t" });
    }
    const request = { parent: "tasks/t", configId: "c", config: configJson };
    expect(peer.requests.map(({ body }) => body)).toEqual([request, configJson, configJson]);
  });

  it("a client of 0.3 over HTTP+JSON reports the first error when both forms of a webhook are refused", async () => {
    let count = 0;
    await using peer = await stranger(() => ({
      status: 400,
      text: JSON.stringify({ code: -32602, message: `refused ${++count}` }),
    }));
    expect(await errorOf(peer.client.createTaskPushNotificationConfig(config, {}))).toMatchObject({
      message: "refused 1",
    });
    await using other = await stranger(() => ({ status: 404, text: JSON.stringify({ code: -32001, message: "no" }) }));
    expect(await errorOf(other.client.createTaskPushNotificationConfig(config, {}))).toMatchObject({
      code: "taskNotFound",
    });
    expect(other.requests).toHaveLength(1);
  });

  it("a client of 0.3 over HTTP+JSON begins a stream with a task, and ends it with the final status", async () => {
    const status = (state: string, final = false) => ({
      statusUpdate: { taskId: "t", contextId: "c", status: { state }, final },
    });
    const all = events(
      status("TASK_STATE_WORKING"),
      status("TASK_STATE_INPUT_REQUIRED", true),
      status("TASK_STATE_FAILED"),
    );
    await using peer = await stranger(() => ({ type: "text/event-stream", text: all }));
    const items = await itemsOf(peer.client.sendStreamingMessage(say("a"), {}));
    expect(items.map(({ response }) => response.payload.case)).toEqual(["task", "statusUpdate", "statusUpdate"]);
  });

  it.each([
    { code: -32603, message: "tide service lost" },
    { error: { code: 500, status: "INTERNAL", message: "tide service lost", details: [] } },
  ])("a client of 0.3 over HTTP+JSON fails a stream with an error event: %j", async (failure) => {
    await using peer = await stranger(() => ({ type: "text/event-stream", text: events({ task }, failure) }));
    const items: unknown[] = [];
    const reading = async (): Promise<void> => {
      for await (const item of peer.client.sendStreamingMessage(say("a"), {})) items.push(item);
    };
    expect(await errorOf(reading())).toMatchObject({ code: "internalError", message: "tide service lost" });
    expect(items).toHaveLength(1);
  });

  it.each(["x", "[]", "{}", '{"task":7}', ""])(
    "a client of 0.3 over HTTP+JSON reports that it cannot read the answer %j",
    async (text) => {
      await using peer = await stranger(() => ({ text }));
      expect(await errorOf(peer.client.sendMessage(say("a"), {}))).toMatchObject({ code: "invalidAgentResponse" });
    },
  );

  it("a client of 0.3 over HTTP+JSON writes files as base64 text until it knows the agent's form", async () => {
    const raw = Buffer.from("no base64: ü").toString("base64");
    const reply = { message: { messageId: "r", role: "ROLE_AGENT", content: [{ file: { fileWithBytes: raw } }] } };
    await using peer = await stranger(() => ({ text: JSON.stringify(reply) }));
    const [adapter] = httpJsonAdapters();
    const [one, other] = [peer.url, peer.url].map((url) => createHttpJsonTransport({ url, adapter }));
    const crew = () => say(file(new TextEncoder().encode("crew"), { mediaType: "text/plain" }));
    const sentBy = async (client: Operations<CallOptions> | undefined): Promise<unknown> => {
      await client?.sendMessage(crew(), {});
      const message = peer.requests.at(-1)?.body?.["message"] as JsonObject;
      const [{ file: sentFile } = {}] = message["content"] as JsonObject[];
      return (sentFile as JsonObject)["fileWithBytes"];
    };
    expect([await sentBy(one), await sentBy(one), await sentBy(other)]).toEqual([
      "WTNKbGR3PT0=",
      "Y3Jldw==",
      "WTNKbGR3PT0=",
    ]);
  });

  it("a client of 0.3 over HTTP+JSON writes what our server reads, whatever the message", async () => {
    const got: SendMessageRequest[] = [];
    const service = serviceOf(
      {
        sendMessage: async (request) => {
          got.push(request);
          return echo(request);
        },
      },
      { versions: ["0.3"] },
    );
    const [adapter] = httpJsonAdapters();
    await using served = await serveEndpoint(httpJsonEndpoint({ adapters: [adapter], service }));
    const client = createHttpJsonTransport({ url: served.url, adapter });
    await fc.assert(
      fc.asyncProperty(validSend, async (request) => {
        if (request.message !== undefined) request.message.referenceTaskIds = [];
        await client.sendMessage(request, {});
        const [received = expect.fail("nothing came")] = got.splice(0);
        expect(equals(SendMessageRequestSchema, received, request)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});
