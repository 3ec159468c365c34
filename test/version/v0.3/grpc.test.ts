import { create, fromBinary, type JsonObject } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { Metadata } from "@grpc/grpc-js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as gen from "../../../gen/a2a/v1/a2a_pb.js";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import { errorFromStatus, errorToStatus } from "../../../src/binding/grpc/errors.js";
import { A2AError, type ErrorCode, errorCodes, errorTable } from "../../../src/protocol/errors.js";
import { TaskState } from "../../../src/protocol/model.js";
import { findOperation, operations } from "../../../src/protocol/operations.js";
import { grpcAdapter } from "../../../src/version/v0.3/grpc.js";
import { rpcs } from "../../../src/version/v0.3/proto/operations.js";
import { arbitraryMessage } from "../../support/arbitrary-message.js";
import { statusItem } from "../../support/echo-service.js";
import { frame, rawSession } from "../../support/grpc-raw.js";
import { startGrpc, statusOf } from "./grpc-served.js";
import { messageOf } from "./proto-served.js";

const adapter = grpcAdapter();
const hook = { url: "http://127.0.0.1:9/hook", token: "tk-9" };

async function taskOn(grpc: Awaited<ReturnType<typeof startGrpc>>, text = "berth"): Promise<string> {
  const { task } = await grpc.call("SendMessage", { message: messageOf(text), configuration: { blocking: true } });
  return String((task as JsonObject)["id"]);
}

describe("gRPC of 0.3", () => {
  // Requirements: V03-GRPC-5
  it("gRPC of 0.3 answers a message, reads its task and refuses to cancel an ended one", async () => {
    await using grpc = await startGrpc();
    const reply = await grpc.call("SendMessage", { message: messageOf("hello") });
    expect(reply).toMatchObject({ message: { role: "ROLE_AGENT", content: [{ text: "hi" }] } });
    const id = await taskOn(grpc);
    const task = await grpc.call("GetTask", { name: `tasks/${id}`, historyLength: 1 });
    expect(task).toMatchObject({
      id,
      status: { state: "TASK_STATE_COMPLETED" },
      artifacts: [{ parts: [{ text: "K4" }, {}] }],
    });
    expect(task["history"]).toHaveLength(1);
    expect((await grpc.call("GetTask", { name: `tasks/${id}` }))["history"]).toHaveLength(2);
    expect(await statusOf(grpc.call("CancelTask", { name: `tasks/${id}` }))).toMatchObject({
      code: 9,
      details: expect.stringMatching(/^TaskNotCancelableError: /),
    });
  });

  it("gRPC of 0.3 cancels a task, which is cancelled with two L then", async () => {
    await using grpc = await startGrpc();
    const { task } = await grpc.call("SendMessage", { message: messageOf("wait"), configuration: {} });
    const { id } = task as JsonObject;
    expect(await grpc.call("CancelTask", { name: `tasks/${id}` })).toMatchObject({
      id,
      status: { state: "TASK_STATE_CANCELLED" },
    });
  });

  it("gRPC of 0.3 streams a send to its final status, and a task that has ended once more", async () => {
    await using grpc = await startGrpc();
    const events = await grpc.stream("SendStreamingMessage", { message: messageOf("berth") });
    expect(events.map((event) => Object.keys(event).join())).toEqual([
      "task",
      "statusUpdate",
      "artifactUpdate",
      "statusUpdate",
    ]);
    expect(
      events.filter(({ statusUpdate }) => (statusUpdate as JsonObject | undefined)?.["final"] === true),
    ).toHaveLength(1);
    const [{ task } = {}] = events;
    const { id } = task as JsonObject;
    expect(await grpc.stream("TaskSubscription", { name: `tasks/${id}` })).toMatchObject([
      { task: { id } },
      { statusUpdate: { status: { state: "TASK_STATE_COMPLETED" }, final: true } },
    ]);
  });

  // Requirements: V03-GRPC-5
  it("gRPC of 0.3 keeps webhooks as E25 asks for them", async () => {
    await using grpc = await startGrpc();
    const id = await taskOn(grpc, "ask");
    const parent = `tasks/${id}`;
    const createdConfig = await grpc.call("CreateTaskPushNotificationConfig", {
      parent,
      configId: "hook-3",
      config: { pushNotificationConfig: hook },
    });
    const name = `${parent}/pushNotificationConfigs/hook-3`;
    expect(createdConfig).toEqual({ name, pushNotificationConfig: { id: "hook-3", url: hook.url } });
    expect(await grpc.call("GetTaskPushNotificationConfig", { name })).toEqual(createdConfig);
    expect(await grpc.call("GetTaskPushNotificationConfig", { name: `${parent}/pushNotificationConfigs/` })).toEqual(
      createdConfig,
    );
    expect(await grpc.call("ListTaskPushNotificationConfig", { parent, pageSize: 20 })).toEqual({
      configs: [createdConfig],
    });
    expect(await grpc.call("DeleteTaskPushNotificationConfig", { name })).toEqual({});
    expect(await statusOf(grpc.call("GetTaskPushNotificationConfig", { name }))).toMatchObject({ code: 5 });
  });

  // Requirements: V03-CARDX-3
  it("gRPC of 0.3 reads the card for authenticated callers, and reports when there is none", async () => {
    const card = { name: "Quay", description: "d", version: "1", extended: { description: "more" } };
    await using quay = await startGrpc({ card, authenticate: () => ({ owner: "me" }) });
    expect(await quay.call("GetAgentCard", {})).toMatchObject({
      description: "more",
      protocolVersion: "0.3.0",
      preferredTransport: "JSONRPC",
      additionalInterfaces: expect.arrayContaining([
        { url: expect.stringMatching(/^127\.0\.0\.1:\d+$/), transport: "GRPC" },
      ]),
      supportsAuthenticatedExtendedCard: true,
    });
    await using plain = await startGrpc();
    expect(await statusOf(plain.call("GetAgentCard", {}))).toMatchObject({
      details: expect.stringMatching(/^AuthenticatedExtendedCardNotConfiguredError: /),
    });
  });

  it.each([
    { form: "content", bytes: "Y3Jldw==", mediaType: "text/plain" },
    { form: "base64 text", bytes: "WTNKbGR3PT0=", mediaType: "text/plain" },
  ])("gRPC of 0.3 answers the file of E24 as $form when it came so", async ({ bytes, mediaType }) => {
    await using grpc = await startGrpc();
    const content = [{ text: "echo" }, { file: { fileWithBytes: bytes, mimeType: mediaType } }];
    const reply = await grpc.call("SendMessage", { message: messageOf("echo", { content }) });
    expect(reply).toMatchObject({ message: { content } });
  });

  // Requirements: V03-MSG-1, V03-GRPC-3
  it.each([
    ["GetTask", { name: "t" }, "name must be of the form tasks/{id}"],
    ["GetTask", { name: "tasks/t/pushNotificationConfigs/c" }, "name must be of the form tasks/{id}"],
    ["CancelTask", {}, "name must be of the form tasks/{id}"],
    ["GetTaskPushNotificationConfig", { name: "tasks/t" }, "name must be of the form"],
    ["ListTaskPushNotificationConfig", { parent: "x" }, "parent must be of the form tasks/{id}"],
    ["CreateTaskPushNotificationConfig", { parent: "tasks/t" }, "config.pushNotificationConfig is required"],
    [
      "CreateTaskPushNotificationConfig",
      { parent: "tasks/t", config: { pushNotificationConfig: { id: "c" } } },
      "config.pushNotificationConfig.url is required",
    ],
    ["SendMessage", {}, "message is required"],
    ["SendMessage", { message: { content: [{ text: "a" }] } }, "message.messageId is required"],
    ["SendMessage", { message: { messageId: "m", content: [] } }, "message.content needs at least one entry"],
    ["SendMessage", { message: { messageId: "m", content: [{}] } }, "message.content[0] needs one of text, file, data"],
    [
      "SendMessage",
      { message: { messageId: "m", content: [{ file: {} }] } },
      "message.content[0].file needs one of fileWithUri",
    ],
    ["SendMessage", { message: messageOf("a", { role: "ROLE_AGENT" }) }, "message.role must be ROLE_USER"],
    ["GetTask", { name: "tasks/t", historyLength: -1 }, "historyLength must be 0 or more"],
    [
      "SendMessage",
      { message: messageOf("a"), configuration: { pushNotification: { token: "t" } } },
      "configuration.pushNotification.url is required",
    ],
  ] as const)("gRPC of 0.3 refuses %s %j: %s", async (rpc, request, text) => {
    await using grpc = await startGrpc();
    const { code, details } = await statusOf(grpc.call(rpc, request as unknown as JsonObject));
    expect([code, details]).toEqual([3, expect.stringContaining(`InvalidParamsError: invalid parameters: ${text}`)]);
  });

  // Requirements: V03-GRPC-6
  it("gRPC of 0.3 identifies a missing task by name and by reason", async () => {
    await using grpc = await startGrpc();
    const status = await statusOf(grpc.call("GetTask", { name: "tasks/nope" }));
    expect(status).toMatchObject({ code: 5, details: "TaskNotFoundError: Task not found" });
    expect(errorFromStatus(status, { adapter, operation: findOperation("getTask") })).toMatchObject({
      code: "taskNotFound",
      metadata: { taskId: "nope" },
    });
  });

  it.each([
    { status: 9, name: "cancelTask", code: "taskNotCancelable" },
    { status: 9, name: "sendMessage", code: "unsupportedOperation" },
    { status: 12, name: "subscribeToTask", code: "unsupportedOperation" },
    { status: 12, name: "createTaskPushNotificationConfig", code: "pushNotificationNotSupported" },
  ] as const)("gRPC of 0.3 reads status $status of $name without details as $code", ({ status, name, code }) => {
    const serviceError = { code: status, details: "no", metadata: new Metadata() };
    expect(errorFromStatus(serviceError, { adapter, operation: findOperation(name) }).code).toBe(code);
  });

  it.each([
    { code: "unsupportedOperation", status: 12 },
    { code: "pushNotificationNotSupported", status: 12 },
    { code: "taskNotCancelable", status: 9 },
  ] as const)("gRPC of 0.3 reports $code by status $status, in the header and in the details", ({ code, status }) => {
    const serviceError = errorToStatus(new A2AError(code, "not here"), adapter);
    expect(serviceError["grpc-status"]).toBe(String(status));
    const details = Buffer.from(serviceError["grpc-status-details-bin"] ?? "", "base64");
    expect(fromBinary(StatusSchema, details).code).toBe(status);
  });

  it.each(["0.3", "0.3.0", ""])("gRPC of 0.3 is called with the version %j", async (version) => {
    await using grpc = await startGrpc();
    await expect(
      grpc.call("SendMessage", { message: messageOf("hello") }, { "a2a-version": version }),
    ).resolves.toBeDefined();
  });
});

// Requirements: V03-GRPC-4
it("reflection lists and describes the 0.3 service, with the names that its schema gives in JSON", async () => {
  await using grpc = await startGrpc();
  using raw = rawSession(Number(grpc.served.server.grpcPort));
  const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
  const ask = async (field: number, text: string): Promise<string> => {
    const question = new BinaryWriter().tag(field, WireType.LengthDelimited).string(text).finish();
    return (await raw.call("", frame(question), { ":path": path })).body.toString("latin1");
  };
  const listed = await ask(7, "*");
  expect(listed).toMatch(/[^.]a2a\.v1\.A2AService/);
  expect(listed).toContain("lf.a2a.v1.A2AService");
  const described = await ask(4, "a2a.v1.A2AService");
  expect(described).toContain("a2a/v1/a2a.proto");
  // The field's number, type and JSON name.
  expect(described).toContain("update\x18\x02 \x01(\x0b2\x0f.a2a.v1.MessageR\x07message");
});

describe.each(["connect", "grpc-web"] as const)("%s of 0.3", (protocol) => {
  it.each([true, false])("the web forms of gRPC of 0.3 answer and stream, in binary: %s", async (useBinaryFormat) => {
    await using grpc = await startGrpc();
    const options = { baseUrl: grpc.served.server.url, httpVersion: "1.1" as const, useBinaryFormat };
    const transport = protocol === "connect" ? createConnectTransport(options) : createGrpcWebTransport(options);
    const client = createClient(gen.A2AService, transport);
    const request = create(gen.SendMessageRequestSchema, {
      request: { messageId: "m", role: gen.Role.USER, content: [{ part: { case: "text", value: "berth" } }] },
    });
    const { payload } = await client.sendMessage(request);
    expect(payload).toMatchObject({ case: "task", value: { status: { state: gen.TaskState.COMPLETED } } });
    const finals: unknown[] = [];
    for await (const event of client.sendStreamingMessage(request)) {
      if (event.payload.case === "statusUpdate") finals.push(event.payload.value.final);
    }
    expect(finals).toEqual([false, true]);
  });
});

describe("the gRPC adapter of 0.3", () => {
  // Requirements: V03-TRANS-4, V03-GRPC-1
  it("the gRPC adapter of 0.3 has every RPC of the service", () => {
    expect(new Set(adapter.methods.keys())).toEqual(new Set(gen.A2AService.methods.map(({ name }) => name)));
    expect(operations.filter((operation) => ![...rpcs.values()].includes(operation)).map(({ name }) => name)).toEqual([
      "listTasks",
    ]);
  });

  it.each(errorCodes)("the error %s is identified over gRPC by its class name where 0.3 has one", (code) => {
    const error = new A2AError(code, "no: it is not\nso");
    const text = `${adapter.findPrefix?.(error)}${error.message}`;
    const read = adapter.readPrefix?.(text);
    if (read === undefined) expect(text).toBe(error.message);
    else expect(read).toEqual({ code, message: error.message });
    // The nine errors of A2A and those of JSON-RPC.
    expect(read !== undefined).toBe(errorTable[code].a2a || classed.has(code));
  });

  const classed: ReadonlySet<ErrorCode> = new Set([
    "parseError",
    "invalidRequest",
    "methodNotFound",
    "invalidParams",
    "internalError",
  ]);

  it.each([
    ["pushNotificationNotSupported", 12],
    ["unsupportedOperation", 12],
    ["taskNotCancelable", undefined],
    ["taskNotFound", undefined],
  ] as const)("the error %s has the gRPC status %s where peers of 0.3 know it by another", (code, status) => {
    expect(adapter.findStatus?.(new A2AError(code, "no"))).toBe(status);
  });

  it.each([
    [12, "createTaskPushNotificationConfig", "pushNotificationNotSupported"],
    [12, "sendMessage", "unsupportedOperation"],
    [9, "cancelTask", "taskNotCancelable"],
    [9, "sendMessage", undefined],
    [5, "cancelTask", undefined],
  ] as const)("gRPC status %i of %s alone means %s in 0.3", (status, name, code) => {
    expect(adapter.readStatus?.(status, findOperation(name))).toBe(code);
  });

  it.each(["no prefix", "Something: else", "", "SomeUnknownError: what"])(
    "the gRPC message %j has no class name of 0.3",
    (text) => {
      expect(adapter.readPrefix?.(text)).toBeUndefined();
    },
  );

  it("the gRPC adapter of 0.3 encodes an event once for all readers of the same form", () => {
    const operation = findOperation("subscribeToTask");
    const request = create(operation.input);
    const item = statusItem(1);
    const [first] = adapter.writeStream(operation, request).write(item);
    const [second] = grpcAdapter().writeStream(operation, request).write(item);
    expect(second?.payload).toBe(first?.payload);
    const done = statusItem(2, TaskState.COMPLETED);
    const [final] = adapter.writeStream(operation, request).write(done);
    expect(final?.payload).toMatchObject({ payload: { value: { final: true } } });
  });

  it.each([...rpcs])(
    "the gRPC adapter of 0.3 refuses anything but a request of %s with an A2AError",
    (_, operation) => {
      const descriptor = gen.A2AService.methods.find(({ name }) => rpcs.get(name) === operation);
      if (descriptor === undefined) throw new TypeError(`no RPC of ${operation.name}`);
      fc.assert(
        fc.property(arbitraryMessage(descriptor.input), (wire) => {
          try {
            adapter.readRequest(operation, wire);
          } catch (error) {
            expect(error).toMatchObject({ name: "A2AError", code: "invalidParams" });
          }
        }),
        { numRuns: 100 },
      );
    },
  );
});
