import { create, equals, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createHttpJsonTransport } from "../../../src/binding/http-json/client.js";
import { httpJsonEndpoint } from "../../../src/binding/http-json/server.js";
import { A2AError } from "../../../src/protocol/errors.js";
import { SendMessageRequestSchema } from "../../../src/protocol/model.js";
import { findOperation } from "../../../src/protocol/operations.js";
import { httpJsonAdapters } from "../../../src/version/v0.3/http-json.js";
import { echo, serviceOf } from "../../support/echo-service.js";
import { serveEndpoint } from "../../support/http-agent.js";
import { itemsOf } from "../../support/items.js";
import { requestOf, say, taskOf } from "../../support/say.js";
import { validSend } from "./proto-arbitrary.js";
import { startRest } from "./proto-served.js";

const [, snake] = httpJsonAdapters();
if (snake === undefined) throw new TypeError("0.3 has two forms of HTTP+JSON");
const adapter = snake;
const old = { "A2A-Version": "0.3" };

const sendOf = (text: string, configuration: JsonObject = { blocking: true }): JsonObject => ({
  message: { kind: "message", message_id: `m-${text}`, role: "user", parts: [{ kind: "text", text }] },
  configuration,
});

describe("HTTP+JSON of 0.3 on the paths of 1.0, in snake case", () => {
  // Requirements: V03-REST-6
  it("HTTP+JSON of 0.3 in snake case answers a message with the task itself", async () => {
    await using rest = await startRest();
    const { status, headers, json } = await rest.ask("POST /message:send", sendOf("berth"), old);
    expect([status, headers["content-type"]]).toEqual([200, "application/json"]);
    expect(json).toMatchObject({
      kind: "task",
      context_id: expect.any(String),
      status: { state: "completed" },
      artifacts: [
        {
          artifact_id: expect.any(String),
          parts: [
            { kind: "text", text: "K4" },
            { kind: "file", file: { bytes: "Y3Jldw==", mime_type: "text/plain", name: "c.txt" } },
          ],
        },
      ],
    });
    const task = await rest.ask(`GET /tasks/${json["id"]}?historyLength=1`, undefined, old);
    expect(task.json).toMatchObject({ kind: "task", history: [{ message_id: expect.any(String) }] });
  });

  it("HTTP+JSON of 0.3 in snake case refuses JSON without end as other wrong JSON, from callers and agents", () => {
    const codec = adapter.codec(findOperation("sendMessage"));
    const endless = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);
    expect(() => codec.readRequest({ message: { parts: endless } })).toThrow(/^invalid parameters: message/);
    expect(() => codec.readReply({ kind: "task", id: "t", artifacts: endless })).toThrow(A2AError);
  });

  it("HTTP+JSON of 0.3 in snake case streams events themselves", async () => {
    await using rest = await startRest();
    const { events } = await rest.ask("POST /message:stream", sendOf("berth"), old);
    expect(events.map(({ data }) => data["kind"])).toEqual([
      "task",
      "status-update",
      "artifact-update",
      "status-update",
    ]);
    expect(events.map(({ data }) => data["final"])).toEqual([undefined, false, undefined, true]);
    expect(events[1]?.data).toHaveProperty("task_id");
  });

  it.each([
    ["cancel", "ask"],
    ["subscribe", "berth"],
  ])("HTTP+JSON of 0.3 in snake case takes a POST without a body or a type for :%s", async (verb, word) => {
    await using rest = await startRest();
    const { json } = await rest.ask("POST /message:send", sendOf(word), old);
    const { status, json: reply, events } = await rest.ask(`POST /tasks/${json["id"]}:${verb}`, undefined, old);
    const [{ data } = { data: reply }] = events;
    expect([status, data]).toMatchObject([200, { kind: "task", id: json["id"] }]);
  });

  it.each<readonly [string, JsonObject]>([
    ["the configuration", { task_id: "", push_notification_config: { id: "c", url: "http://127.0.0.1:9/" } }],
    ["the webhook", { id: "c", url: "http://127.0.0.1:9/" }],
  ])("HTTP+JSON of 0.3 in snake case keeps webhooks, of %s", async (_, body) => {
    await using rest = await startRest();
    const { json } = await rest.ask("POST /message:send", sendOf("ask"), old);
    const path = `/tasks/${json["id"]}/pushNotificationConfigs`;
    const whole = "task_id" in body ? { ...body, task_id: String(json["id"]) } : body;
    const response = await rest.ask(`POST ${path}`, whole, old);
    const config = { task_id: json["id"], push_notification_config: { id: "c", url: "http://127.0.0.1:9/" } };
    expect([response.status, response.json]).toEqual([200, config]);
    expect((await rest.ask(`GET ${path}/c`, undefined, old)).json).toEqual(config);
    expect((await rest.ask(`GET ${path}`, undefined, old)).json).toEqual([config]);
    expect((await rest.ask(`DELETE ${path}/c`, undefined, old)).status).toBe(200);
    expect((await rest.ask(`GET ${path}/c`, undefined, old)).json).toMatchObject({ error: { status: "NOT_FOUND" } });
  });

  it("HTTP+JSON of 0.3 in snake case leaves the caller's own data unchanged", async () => {
    const free = { kind: "data", data: { someKey: { other_key: 1 } }, metadata: { aKey: 1, b_key: 2 } };
    await using rest = await startRest();
    const parts = [{ kind: "text", text: "echo" }, free];
    const { json } = await rest.ask("POST /message:send", { message: { message_id: "m", role: "user", parts } }, old);
    expect(json).toMatchObject({ kind: "message", parts });
  });

  it("HTTP+JSON of 0.3 in snake case writes errors so that its clients find the reason", async () => {
    await using rest = await startRest();
    const { status, json } = await rest.ask("GET /tasks/nope", undefined, old);
    expect([status, json]).toMatchObject([404, { error: { details: [{ reason: "TASK_NOT_FOUND" }] } }]);
  });

  it("HTTP+JSON of 0.3 in snake case is not sent to callers that declare nothing, or 1.0", async () => {
    await using rest = await startRest();
    const proto = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] } };
    for (const headers of [{}, { "A2A-Version": "1.0" }]) {
      const { json } = await rest.ask("POST /message:send", proto, headers);
      expect(json).toMatchObject({ message: { role: "ROLE_AGENT" } });
    }
    await using strict = await startRest({ versions: { strict: true } });
    expect((await strict.ask("POST /message:send", proto)).json).toMatchObject({
      error: { details: [{ reason: "VERSION_NOT_SUPPORTED" }] },
    });
  });
});

describe("a client that calls agents so", () => {
  it("a client of 0.3 in snake case sends and streams, and asks for stored tasks", async () => {
    await using rest = await startRest();
    const client = createHttpJsonTransport({ url: `${rest.served.server.url}/http-json`, adapter });
    const task = taskOf(await client.sendMessage(say("ask"), {}));
    expect((await client.getTask(requestOf("getTask", { id: task.id, historyLength: 1 }), {})).history).toHaveLength(1);
    const config = requestOf("createTaskPushNotificationConfig", {
      taskId: task.id,
      id: "c",
      url: "http://127.0.0.1:9/",
    });
    expect(await client.createTaskPushNotificationConfig(config, {})).toMatchObject({ taskId: task.id, id: "c" });
    const listed = await client.listTaskPushNotificationConfigs(
      requestOf("listTaskPushNotificationConfigs", { taskId: task.id }),
      {},
    );
    expect(listed.configs).toMatchObject([{ taskId: task.id, id: "c" }]);
    const one = { taskId: task.id, id: "c" };
    expect(
      await client.getTaskPushNotificationConfig(requestOf("getTaskPushNotificationConfig", one), {}),
    ).toMatchObject(one);
    await client.deleteTaskPushNotificationConfig(requestOf("deleteTaskPushNotificationConfig", one), {});
    expect(await client.cancelTask(requestOf("cancelTask", { id: task.id }), {})).toMatchObject({ id: task.id });
    const events = await itemsOf(client.sendStreamingMessage(say("berth"), {}));
    expect(events.map(({ response }) => response.payload.case)).toEqual([
      "task",
      "statusUpdate",
      "artifactUpdate",
      "statusUpdate",
    ]);
  });

  it("a client of 0.3 in snake case writes what the server reads, whatever the message", async () => {
    await using served = await serveEndpoint(
      httpJsonEndpoint({
        adapters: [adapter],
        service: serviceOf({ sendMessage: async (request) => echo(request) }, { versions: ["0.3"] }),
      }),
    );
    const client = createHttpJsonTransport({ url: served.url, adapter });
    await fc.assert(
      fc.asyncProperty(validSend, async (request) => {
        const { payload } = await client.sendMessage(request, {});
        const parts = payload.case === "message" ? payload.value.parts : [];
        const meant = { ...request.message, parts } as typeof request.message;
        expect(
          equals(
            SendMessageRequestSchema,
            create(SendMessageRequestSchema, { message: meant }),
            create(SendMessageRequestSchema, { message: request.message }),
          ),
        ).toBe(true);
      }),
      { numRuns: 30 },
    );
  });
});

it("HTTP+JSON of 0.3 in snake case refuses random JSON with an A2AError and nothing else", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(...adapter.routes), (json, { operation }) => {
      for (const read of [
        () => adapter.codec(operation).readRequest(json as JsonValue),
        () => (operation.streams ? undefined : adapter.codec(operation).readReply(json as JsonValue)),
        () => adapter.readStream(findOperation("subscribeToTask")).read(json as JsonValue),
      ]) {
        try {
          read();
        } catch (error) {
          expect(error).toMatchObject({ name: "A2AError" });
        }
      }
    }),
    { numRuns: 300 },
  );
});
