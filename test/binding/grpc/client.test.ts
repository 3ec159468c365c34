import { Server, ServerCredentials, type sendUnaryData } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { toTarget } from "../../../src/binding/grpc/channel-manager.js";
import { createGrpcTransport } from "../../../src/binding/grpc/client.js";
import { operations } from "../../../src/protocol/operations.js";
import { echo, serviceOf } from "../../support/echo-service.js";
import { adapter, grpcAgent } from "../../support/grpc-agent.js";
import { itemsOf } from "../../support/items.js";
import { getTask, hello } from "../../support/requests.js";

it.each([
  ["localhost:50051", "localhost:50051"],
  ["http://a.example", "a.example:80"],
  ["https://a.example/some/path?x=1", "a.example:443"],
  ["GRPCS://[::1]:9/", "[::1]:9"],
  ["grpc://[::1]", "[::1]:80"],
])("the gRPC client dials %s at %s", (address, target) => {
  expect(toTarget(address)).toBe(target);
});

// Requirements: V1-SP-4
it("the gRPC client sends its version, headers and binary metadata with each call", async () => {
  const headers: (string | undefined)[] = [];
  await using agent = await grpcAgent(
    serviceOf(
      { sendMessage: async (request) => echo(request) },
      {
        authenticate: ({ header }) => {
          headers.push(...["a2a-version", "x-both", "x-own", "x-bin", "last-event-id"].map(header));
          return { principal: { owner: "o" } };
        },
      },
    ),
  );
  const client = createGrpcTransport({
    address: agent.address,
    adapter,
    headers: { "X-Both": "shared", "x-own": "no" },
  });
  await client.sendMessage(hello, { headers: { "X-Own": "yes", "x-bin": "AQI=" } });
  await client.sendMessage(hello, {});
  client.close();
  expect(headers).toEqual(["1.0", "shared", "yes", "AQI=", undefined, "1.0", "shared", "no", undefined, undefined]);
});

it("a gRPC call fails at once when its signal has aborted before", async () => {
  await using agent = await grpcAgent(serviceOf({}));
  const signal = AbortSignal.abort(new Error("too late"));
  await expect(agent.client.getTask(getTask, { signal })).rejects.toThrow("too late");
  await expect(itemsOf(agent.client.sendStreamingMessage(hello, { signal }))).rejects.toThrow("too late");
});

it("a gRPC call fails with unavailable when no server listens", async () => {
  const client = createGrpcTransport({ address: "127.0.0.1:1", adapter });
  await expect(client.getTask(getTask, {})).rejects.toMatchObject({ code: "unavailable" });
  await expect(itemsOf(client.sendStreamingMessage(hello, {}))).rejects.toMatchObject({ code: "unavailable" });
  client.close();
});

it("the gRPC client keeps its time limit against a silent server", async () => {
  await using agent = await grpcAgent(serviceOf({ getTask: () => new Promise(() => {}) }));
  const call = agent.client.getTask(getTask, { timeoutMs: 50 });
  await expect(call).rejects.toMatchObject({ code: "deadlineExceeded" });
});

it("the gRPC client refuses an operation that its version does not have", async () => {
  const few = { ...adapter, methods: new Map([...adapter.methods].slice(0, 1)) };
  const client = createGrpcTransport({ address: "127.0.0.1:1", adapter: few });
  await expect(client.getTask(getTask, {})).rejects.toMatchObject({ code: "unsupportedOperation" });
  await expect(
    itemsOf(client.subscribeToTask({ $typeName: "lf.a2a.v1.SubscribeToTaskRequest", tenant: "", id: "t" }, {})),
  ).rejects.toMatchObject({ code: "unsupportedOperation" });
  client.close();
});

// Requirements: V1-EQ-1
it("the gRPC client has every operation of the table", async () => {
  const client = createGrpcTransport({ address: "127.0.0.1:1", adapter });
  expect(new Set(Object.keys(client))).toEqual(new Set([...operations.map(({ name }) => name), "close"]));
  client.close();
});

/** A server that replies to everything with the same bytes. */
async function broken(bytes: Buffer): Promise<{ address: string } & Disposable> {
  const server = new Server();
  const pass = (value: Buffer): Buffer => value;
  server.register(
    "/lf.a2a.v1.A2AService/GetTask",
    (_: unknown, answer: sendUnaryData<Buffer>) => answer(null, bytes),
    pass,
    pass,
    "unary",
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error instanceof Error ? reject(error) : resolve(bound),
    );
  });
  return { address: `127.0.0.1:${port}`, [Symbol.dispose]: () => server.forceShutdown() };
}

it("the gRPC client reports a reply that cannot be read as an invalid agent response", async () => {
  using server = await broken(Buffer.from([0x0a, 0xff]));
  const client = createGrpcTransport({ address: server.address, adapter });
  await expect(client.getTask(getTask, {})).rejects.toMatchObject({ code: "invalidAgentResponse" });
  client.close();
});

it("the gRPC client refuses a reply over its limit", async () => {
  using server = await broken(Buffer.alloc(2000));
  const client = createGrpcTransport({ address: server.address, adapter, replyMaxBytes: 1000 });
  await expect(client.getTask(getTask, {})).rejects.toMatchObject({
    code: "contentTooLarge",
    message: expect.stringContaining("over the limit of 1000 bytes (replyMaxBytes)"),
  });
  client.close();
});
