import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { getOption } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { file_a2a_v1_a2a } from "../../../gen/a2a/v1/a2a_pb.js";
import { http } from "../../../gen/google/api/annotations_pb.js";
import { rpcs } from "../../../src/version/v0.3/proto/operations.js";
import { routes } from "../../../src/version/v0.3/proto/routes.js";
import { messageOf, type Rest, startRest } from "./proto-served.js";

const hook = { url: "http://127.0.0.1:9/hook", authentication: { schemes: ["Bearer"] } };

/** Creates a task and returns its id. */
async function taskOn(rest: Rest, text = "berth"): Promise<string> {
  const { json } = await rest.ask("POST /v1/message:send", { message: messageOf(text) });
  return String((json["task"] as JsonObject)["id"]);
}

describe("sending over HTTP+JSON of 0.3", () => {
  // Requirements: V03-REST-5, V03-REST-8
  it("HTTP+JSON of 0.3 answers a message with a task as E18 shows it", async () => {
    await using rest = await startRest();
    const { status, headers, json } = await rest.ask("POST /v1/message:send", {
      message: messageOf("berth", { content: [{ text: "berth" }, { data: { data: { loa: 96 } } }] }),
      configuration: { blocking: true, acceptedOutputModes: ["text/plain"] },
    });
    expect([status, headers["content-type"]]).toEqual([200, "application/json"]);
    expect(json).toMatchObject({
      task: {
        status: { state: "TASK_STATE_COMPLETED", timestamp: expect.stringMatching(/Z$/) },
        artifacts: [{ parts: [{ text: "K4" }, { file: { mimeType: "text/plain", name: "c.txt" } }] }],
        history: [
          { messageId: "m-berth", role: "ROLE_USER", content: [{ text: "berth" }, { data: { data: { loa: 96 } } }] },
          { role: "ROLE_AGENT", content: [{ text: "on it" }] },
        ],
      },
    });
  });

  // Requirements: V03-REST-6
  it.each<readonly [string, JsonObject]>([
    ["the message as message", { message: messageOf("hello") }],
    ["the message as request", { request: messageOf("hello") }],
    [
      "names as the schema spells them",
      {
        request: { message_id: "m", role: "ROLE_USER", content: [{ text: "hello" }] },
        configuration: { accepted_output_modes: ["text/plain"], history_length: 1, blocking: true },
      },
    ],
    ["content renamed to parts", { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] } }],
    ["members that nobody knows", { message: messageOf("hello", { mood: "good" }), mood: 1 }],
    ["numbers for words", { message: messageOf("hello", { role: 1 }) }],
    ["no role", { message: { messageId: "m", content: [{ text: "hello" }] } }],
    [
      "the other JSON of 0.3",
      { message: { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "hello" }] } },
    ],
    ["the other JSON without kinds", { message: { messageId: "m", role: "user", parts: [{ text: "hello" }] } }],
  ])("HTTP+JSON of 0.3 takes a send with %s", async (_, body) => {
    await using rest = await startRest();
    const { status, json } = await rest.ask("POST /v1/message:send", body);
    expect([status, json]).toMatchObject([200, { message: { role: "ROLE_AGENT", content: [{ text: "hi" }] } }]);
  });

  it("HTTP+JSON of 0.3 refuses a message without an id, and names the field", async () => {
    await using rest = await startRest();
    const { status, json } = await rest.ask("POST /v1/message:send", { message: { content: [{ text: "hello" }] } });
    expect([status, json]).toMatchObject([
      400,
      { code: -32602, message: expect.stringContaining("message.messageId") },
    ]);
  });

  // Requirements: V03-SEND-5
  it.each<readonly [string, JsonObject | undefined, string]>([
    ["no configuration", undefined, "TASK_STATE_COMPLETED"],
    ["blocking", { blocking: true }, "TASK_STATE_COMPLETED"],
    ["not blocking", { blocking: false }, "TASK_STATE_SUBMITTED"],
    ["a configuration that says nothing of it", {}, "TASK_STATE_SUBMITTED"],
  ])("a send over HTTP+JSON of 0.3 waits for the task or not: %s", async (_, configuration, state) => {
    await using rest = await startRest();
    const text = state === "TASK_STATE_COMPLETED" ? "berth" : "wait";
    const { json } = await rest.ask("POST /v1/message:send", {
      message: messageOf(text),
      ...(configuration === undefined ? {} : { configuration }),
    });
    expect(json).toMatchObject({ task: { status: { state } } });
  });

  it.each([
    { form: "content", bytes: "AP9h", back: "AP9h" },
    { form: "base64 text", bytes: "QVA5aA==", back: "QVA5aA==" },
  ])("HTTP+JSON of 0.3 answers files in the form in which they came: $form", async ({ bytes }) => {
    await using rest = await startRest();
    const parts = [{ text: "echo" }, { file: { fileWithBytes: bytes, mimeType: "image/x" } }];
    const { json } = await rest.ask("POST /v1/message:send", { message: messageOf("echo", { content: parts }) });
    expect(json).toMatchObject({ message: { content: parts } });
  });

  // Requirements: IOP-12
  it.each([
    { fileBytes: "base64", written: "WTNKbGR3PT0=" },
    { fileBytes: "raw", written: "Y3Jldw==" },
  ] as const)(
    "HTTP+JSON of 0.3 writes files as $fileBytes to callers that have sent none, when configured so",
    async ({ fileBytes, written }) => {
      await using rest = await startRest({ versions: { fileBytes } });
      const { json } = await rest.ask("POST /v1/message:send", { message: messageOf("berth") });
      expect(json).toMatchObject({ task: { artifacts: [{ parts: [{}, { file: { fileWithBytes: written } }] }] } });
    },
  );
});

describe("tasks over HTTP+JSON of 0.3", () => {
  it.each([
    ["", 2],
    ["?historyLength=1", 1],
    ["?history_length=1", 1],
    ["?historyLength=0", 2],
  ])("HTTP+JSON of 0.3 reads a task with query %j", async (query, history) => {
    await using rest = await startRest();
    const id = await taskOn(rest);
    const { status, json } = await rest.ask(`GET /v1/tasks/${id}${query}`);
    expect([status, json["id"], (json["history"] as JsonValue[]).length]).toEqual([200, id, history]);
  });

  it.each([undefined, null, {}, { name: "tasks/other", id: "other" }])(
    "HTTP+JSON of 0.3 cancels a task with body %j",
    async (body) => {
      await using rest = await startRest();
      const { json } = await rest.ask("POST /v1/message:send", {
        message: messageOf("wait"),
        configuration: { blocking: false },
      });
      const { id } = json["task"] as JsonObject;
      const canceled = await rest.ask(`POST /v1/tasks/${id}:cancel`, body);
      expect([canceled.status, canceled.json]).toMatchObject([200, { id, status: { state: "TASK_STATE_CANCELLED" } }]);
    },
  );

  // Requirements: V03-REST-6
  it.each([
    ["GET", undefined],
    ["POST", undefined],
    ["POST", {}],
    ["POST", null],
  ] as const)("HTTP+JSON of 0.3 subscribes by %s with body %j, to a task that has ended too", async (verb, body) => {
    await using rest = await startRest();
    const id = await taskOn(rest);
    const { status, events } = await rest.ask(`${verb} /v1/tasks/${id}:subscribe`, body);
    expect(status).toBe(200);
    expect(events.map(({ data }) => data)).toMatchObject([
      { task: { id } },
      { statusUpdate: { status: { state: "TASK_STATE_COMPLETED" }, final: true } },
    ]);
  });

  // Requirements: V03-REST-4
  it("HTTP+JSON of 0.3 streams events as E20 shows them, and closes with a final status", async () => {
    await using rest = await startRest();
    const { headers, events } = await rest.ask("POST /v1/message:stream", { message: messageOf("berth") });
    expect(headers["content-type"]).toMatch(/^text\/event-stream/);
    expect(events.map(({ data }) => Object.keys(data).join())).toEqual([
      "task",
      "statusUpdate",
      "artifactUpdate",
      "statusUpdate",
    ]);
    expect(events.map(({ data }) => (data["statusUpdate"] as JsonObject | undefined)?.["final"])).toEqual([
      undefined,
      undefined,
      undefined,
      true,
    ]);
    expect(events.every(({ id, name }) => id !== undefined && name === undefined)).toBe(true);
  });

  it("HTTP+JSON of 0.3 closes a stream that ends with a question too", async () => {
    await using rest = await startRest();
    const { events } = await rest.ask("POST /v1/message:stream", { message: messageOf("ask") });
    expect(events.at(-1)?.data).toMatchObject({
      statusUpdate: { status: { state: "TASK_STATE_INPUT_REQUIRED" }, final: true },
    });
  });
});

describe("push configurations over HTTP+JSON of 0.3", () => {
  // Requirements: V03-REST-8
  it.each<readonly [string, JsonObject, string]>([
    [
      "the request, as E21 shows it",
      { parent: "tasks/x", configId: "c", config: { pushNotificationConfig: hook } },
      "c",
    ],
    ["the request in snake case", { config_id: "c", config: { push_notification_config: hook } }, "c"],
    ["the request with a bare webhook", { configId: "c", config: hook }, "c"],
    [
      "the configuration",
      { name: "tasks/x/pushNotificationConfigs/c", pushNotificationConfig: { ...hook, id: "c" } },
      "c",
    ],
    ["the webhook", { ...hook, id: "c" }, "c"],
    ["a webhook without an id", hook, ""],
  ])("push configurations over HTTP+JSON of 0.3 are made of %s", async (_, body, configId) => {
    await using rest = await startRest();
    const taskId = await taskOn(rest, "ask");
    const id = configId || taskId;
    const response = await rest.ask(`POST /v1/tasks/${taskId}/pushNotificationConfigs`, body);
    const config = { name: `tasks/${taskId}/pushNotificationConfigs/${id}`, pushNotificationConfig: { id, ...hook } };
    expect([response.status, response.json]).toEqual([200, config]);
    expect((await rest.ask(`GET /v1/${config.name}`)).json).toEqual(config);
    expect((await rest.ask(`GET /v1/tasks/${taskId}/pushNotificationConfigs`)).json).toEqual({ configs: [config] });
    const gone = await rest.ask(`DELETE /v1/${config.name}`);
    expect([gone.status, gone.json]).toEqual([200, {}]);
    expect((await rest.ask(`GET /v1/${config.name}`)).json).toMatchObject({ code: -32001, type: "TaskNotFoundError" });
  });

  it.each<readonly [JsonObject, string]>([
    [{ config: { pushNotificationConfig: { url: "" } } }, "config.pushNotificationConfig.url"],
    [{ config: {} }, "config.pushNotificationConfig"],
    [{ pushNotificationConfig: { token: 1 } }, "pushNotificationConfig.token"],
    [{ token: 1 }, "token"],
    [{}, "url"],
  ])("the push configuration %j over HTTP+JSON of 0.3 is refused for %s", async (body, field) => {
    await using rest = await startRest();
    const { status, json } = await rest.ask("POST /v1/tasks/t/pushNotificationConfigs", body);
    expect(status).toBe(400);
    const [, bad] = ((json["error"] as JsonObject)["details"] as JsonObject[]) ?? [];
    expect(bad?.["fieldViolations"]).toContainEqual(expect.objectContaining({ field }));
  });
});

it("HTTP+JSON of 0.3 reads the card for authenticated callers, and reports when there is none", async () => {
  const card = { name: "Quay", description: "d", version: "1", extended: { description: "more" } };
  await using quay = await startRest({ card, authenticate: () => ({ owner: "me" }) });
  const { status, json } = await quay.ask("GET /v1/card");
  expect([status, json]).toMatchObject([
    200,
    {
      description: "more",
      preferredTransport: "JSONRPC",
      protocolVersion: "0.3.0",
      supportsAuthenticatedExtendedCard: true,
      additionalInterfaces: expect.arrayContaining([
        { url: `${quay.served.server.url}/http-json`, transport: "HTTP+JSON" },
      ]),
    },
  ]);
  await using plain = await startRest();
  expect((await plain.ask("GET /v1/card")).json).toMatchObject({
    code: -32007,
    type: "AuthenticatedExtendedCardNotConfiguredError",
  });
});

describe("the routes of 0.3", () => {
  const served = routes.map(({ verb, segments, suffix, operation }) => {
    const path = segments.map((segment) => ("field" in segment ? "*" : segment.literal)).join("/");
    return `${operation.name} ${verb} /${path}${suffix}`;
  });

  // Requirements: V03-TRANS-4, V03-REST-1
  it("the routes of 0.3 are those of the schema, except for the misspelt one", () => {
    const [service] = file_a2a_v1_a2a.services;
    const meant = service?.methods.map((method) => {
      const { pattern } = getOption(method, http);
      const path = String(pattern.value).replace(/\{\w+=([^}]+)\}/g, "$1");
      return `${rpcs.get(method.name)?.name} ${pattern.case?.toUpperCase()} ${path}`;
    });
    const misspelt = "createTaskPushNotificationConfig POST /v1/task/*/pushNotificationConfigs";
    expect(meant).toContain(misspelt);
    const others = meant?.filter((route) => route !== misspelt) ?? [];
    expect(others).toHaveLength(9);
    expect(served).toEqual(expect.arrayContaining(others));
  });

  // Requirements: V03-REST-1
  it("the routes of 0.3 also have the subscription by POST, and new webhooks where all peers have them", () => {
    expect(served).toHaveLength(11);
    expect(served).toContain("subscribeToTask POST /v1/tasks/*:subscribe");
    expect(served).toContain("createTaskPushNotificationConfig POST /v1/tasks/*/pushNotificationConfigs");
  });
});
