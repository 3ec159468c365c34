import { create, equals, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Server, ServerCredentials, status } from "@grpc/grpc-js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as gen from "../../../gen/a2a/v1/a2a_pb.js";
import { createConnectTransport } from "../../../src/binding/connect/client.js";
import { createGrpcTransport } from "../../../src/binding/grpc/client.js";
import type { Transport } from "../../../src/binding/transport.js";
import { SendMessageRequestSchema } from "../../../src/protocol/model.js";
import { findOperation } from "../../../src/protocol/operations.js";
import { file } from "../../../src/protocol/parts.js";
import { grpcAdapter } from "../../../src/version/v0.3/grpc.js";
import { itemsOf } from "../../support/items.js";
import { errorOf, messageOf, requestOf, say, stateOf, taskOf } from "../../support/say.js";
import { startGrpc } from "./grpc-served.js";
import { validSend } from "./proto-arbitrary.js";

const adapter = grpcAdapter();

describe.each(["gRPC", "Connect", "gRPC-Web"] as const)("a client of 0.3 over %s", (binding) => {
  const connect = ({ url, grpcPort }: { readonly url: string; readonly grpcPort: number | undefined }): Transport => {
    if (binding === "gRPC") return createGrpcTransport({ address: `127.0.0.1:${grpcPort}`, adapter });
    return createConnectTransport({ url, adapter, protocol: binding === "Connect" ? "connect" : "grpc-web" });
  };

  it("a 0.3 client has every operation of our own gRPC server, but for the list of tasks", async () => {
    await using grpc = await startGrpc({
      card: { name: "Quay", description: "d", version: "1", extended: { description: "more" } },
      authenticate: () => ({ owner: "me" }),
    });
    const client = connect(grpc.served.server);
    expect(messageOf(await client.sendMessage(say("hello"), {})).parts).toMatchObject([{ content: { value: "hi" } }]);
    const crew = file(new TextEncoder().encode("crew"), { mediaType: "text/plain", filename: "c.txt" });
    const echoed = messageOf(await client.sendMessage(say([...(say("echo").message?.parts ?? []), crew]), {}));
    expect(echoed.parts[1]).toEqual(crew);
    const { id } = taskOf(await client.sendMessage(say("ask"), {}));
    expect((await client.getTask(requestOf("getTask", { id }), {})).history).toHaveLength(2);
    expect((await client.getTask(requestOf("getTask", { id, historyLength: 0 }), {})).history).toHaveLength(0);
    const config = requestOf("createTaskPushNotificationConfig", { taskId: id, id: "c", url: "http://127.0.0.1:9/" });
    const createdConfig = await client.createTaskPushNotificationConfig(config, {});
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
    expect((await client.getExtendedAgentCard(requestOf("getExtendedAgentCard"), {})).description).toBe("more");
    expect(await errorOf(client.getTask(requestOf("getTask", { id: "nope" }), {}))).toMatchObject({
      code: "taskNotFound",
    });
    expect(await errorOf(client.listTasks(requestOf("listTasks"), {}))).toMatchObject({ code: "unsupportedOperation" });
    await client.close?.();
  });
});

/** A foreign server of 0.3: its errors have no details, and its files are raw content. */
async function stranger() {
  const server = new Server();
  const requests: gen.SendMessageRequest[] = [];
  const content = [
    {
      part: { case: "file" as const, value: { file: { case: "fileWithBytes" as const, value: Buffer.from("a b c") } } },
    },
  ];
  const reply = create(gen.SendMessageResponseSchema, { payload: { case: "msg", value: { messageId: "r", content } } });
  const update = (state: gen.TaskState, final: boolean) =>
    create(gen.StreamResponseSchema, {
      payload: { case: "statusUpdate", value: { taskId: "t", contextId: "c", status: { state }, final } },
    });
  const bytes = (message: Uint8Array): Buffer => Buffer.from(message);
  const service = "/a2a.v1.A2AService";
  const read = (message: Buffer) => message;
  server.register(
    `${service}/SendMessage`,
    (call: { readonly request: gen.SendMessageRequest }, answer: (error: null, reply: Buffer) => void) => {
      requests.push(call.request);
      answer(null, bytes(toBinary(gen.SendMessageResponseSchema, reply)));
    },
    (message: Buffer) => message,
    (message: Buffer) => fromBinary(gen.SendMessageRequestSchema, message),
    "unary",
  );
  server.register(
    `${service}/GetTask`,
    (_: unknown, answer: (error: object) => void) =>
      answer({ code: status.UNKNOWN, details: "TaskNotFoundError: gone" }),
    read,
    read,
    "unary",
  );
  server.register(
    `${service}/SendStreamingMessage`,
    (call: { write(message: Buffer): void }) => {
      call.write(bytes(toBinary(gen.StreamResponseSchema, update(gen.TaskState.WORKING, false))));
      // It leaves the stream open.
      call.write(bytes(toBinary(gen.StreamResponseSchema, update(gen.TaskState.INPUT_REQUIRED, true))));
    },
    read,
    read,
    "serverStream",
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  return { requests, address: `127.0.0.1:${port}`, [Symbol.asyncDispose]: async () => server.forceShutdown() };
}

function contentOf(request: gen.SendMessageRequest): Uint8Array {
  const [part] = request.request?.content ?? [];
  if (part?.part.case !== "file" || part.part.value.file.case !== "fileWithBytes") throw new Error("no file was sent");
  return part.part.value.file.value;
}

describe("a 0.3 client at a third-party server", () => {
  // Requirements: V03-SSE-11
  it("a 0.3 client at a third-party server reads its errors, ends its streams and writes its files", async () => {
    await using peer = await stranger();
    const client = createGrpcTransport({ address: peer.address, adapter });
    const missing = client.getTask(requestOf("getTask", { id: "t" }), {});
    expect(await errorOf(missing)).toMatchObject({ code: "taskNotFound", message: "gone" });
    const items = await itemsOf(client.sendStreamingMessage(say("a"), {}));
    expect(items.map(({ response }) => response.payload.case)).toEqual(["task", "statusUpdate", "statusUpdate"]);
    const crew = () => say(file(new TextEncoder().encode("crew")));
    await client.sendMessage(crew(), {});
    await client.sendMessage(crew(), {});
    const contents = peer.requests.map((request) => new TextDecoder().decode(contentOf(request)));
    expect(contents).toEqual(["Y3Jldw==", "crew"]);
    client.close();
  });
});

it("the gRPC client of 0.3 writes what the server reads, whatever the message", () => {
  const operation = findOperation("sendMessage");
  fc.assert(
    fc.property(validSend, (request) => {
      const back = adapter.readRequest(operation, adapter.writeRequest(operation, request));
      expect(equals(SendMessageRequestSchema, back as typeof request, request)).toBe(true);
    }),
    { numRuns: 200 },
  );
});
