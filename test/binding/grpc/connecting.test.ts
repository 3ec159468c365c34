import { createServer, type Http2Session, type ServerHttp2Stream } from "node:http2";
import type { TlsOptions } from "node:tls";
import { promisify } from "node:util";
import { Server, ServerCredentials, type sendUnaryData } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { addressPolicy, clientPolicy } from "../../../src/binding/fetch/address-policy.js";
import { createGrpcTransport, type GrpcTransportOptions } from "../../../src/binding/grpc/client.js";
import { ConnectionError } from "../../../src/protocol/errors.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { echo, serviceOf, statusItem } from "../../support/echo-service.js";
import { adapter, grpcAgent } from "../../support/grpc-agent.js";
import { itemsOf } from "../../support/items.js";
import { getTask, hello } from "../../support/requests.js";
import { localTls } from "../../support/tls.js";
import { bareServer, watched } from "../bare-server.js";

const trusted = { ca: localTls.cert };

/** Returns the errors of a unary call and a stream. */
async function failuresOf(options: Omit<GrpcTransportOptions, "adapter">): Promise<readonly unknown[]> {
  const client = createGrpcTransport({ adapter, ...options });
  const caught = (error: unknown): unknown => error;
  const failures = [
    await client.getTask(getTask, {}).catch(caught),
    await itemsOf(client.sendStreamingMessage(hello, {})).catch(caught),
  ];
  client.close();
  return failures;
}

function expectUnwritten(failures: readonly unknown[], message: RegExp): void {
  for (const failure of failures) {
    expect(failure).toBeInstanceOf(ConnectionError);
    expect(failure).toMatchObject({ code: "unavailable", written: false, message: expect.stringMatching(message) });
  }
}

describe("a call without a connection reports that", () => {
  it.each([
    ["127.0.0.1:1", /^cannot reach 127\.0\.0\.1:1: connect ECONNREFUSED 127\.0\.0\.1:1$/],
    ["nowhere.invalid:80", /^cannot reach nowhere\.invalid:80: Name resolution failed/],
  ])("a gRPC call reports that it had no connection at %s", async (address, message) => {
    expectUnwritten(await failuresOf({ address }), message);
  });

  const http = (): string => "HTTP/1.1 400 Bad Request\r\n\r\n";
  const wrong: readonly [string, { say?: string; server?: TlsOptions; tls?: true | { ca: string } }, RegExp][] = [
    ["that closes at once", { say: "" }, /Failed to connect/],
    ["that speaks HTTP/1.1", { say: http() }, /Protocol error/],
    ["without TLS, over TLS", { say: http(), tls: true }, /TLS: wrong version number$/],
    ["with TLS, in plain text", { server: localTls }, /Failed to connect/],
    ["of an unknown authority", { server: localTls, tls: true }, /self-signed certificate/],
  ];
  // Requirements: V03-TRANS-7
  it.each(wrong)(
    "a gRPC call reports that it had no connection at a server %s",
    async (_, { say, server, tls }, message) => {
      await using bare = await bareServer((socket) => {
        if (say !== undefined) socket.end(say);
      }, server);
      expectUnwritten(await failuresOf({ address: `localhost:${bare.port}`, tls }), message);
      await expect.poll(bare.open).toBe(0);
    },
  );

  it("a gRPC call to a silent server reports no connection when its time is over, and frees the socket", async () => {
    await using bare = await bareServer(() => {});
    const address = `127.0.0.1:${bare.port}`;
    expectUnwritten(await failuresOf({ address, connectTimeoutMs: 60 }), /no connection within 60 ms$/);
    expect(bare.accepted()).toBe(2);
    await expect.poll(bare.open).toBe(0);
  });

  it("a gRPC call reports that it had no connection when its own limits end first", async () => {
    await using bare = await bareServer(() => {});
    const client = createGrpcTransport({ adapter, address: `127.0.0.1:${bare.port}` });
    await expect(client.getTask(getTask, { timeoutMs: 20 })).rejects.toMatchObject({ code: "deadlineExceeded" });
    const controller = new AbortController();
    const call = client.getTask(getTask, { signal: controller.signal });
    const iterator = client.sendStreamingMessage(hello, {})[Symbol.asyncIterator]();
    const next = iterator.next();
    controller.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    await iterator.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
    await expect.poll(bare.open).toBe(1);
    client.close();
    await expect.poll(bare.open).toBe(0);
    await expect(client.getTask(getTask, {})).rejects.toThrow("the connection is closed");
  });
});

/** A server with an empty reply to GetTask. */
async function answering(port: number) {
  const server = new Server();
  const same = (bytes: Buffer): Buffer => bytes;
  const answer = (_: unknown, reply: sendUnaryData<Buffer>): void => reply(null, Buffer.alloc(0));
  server.register("/lf.a2a.v1.A2AService/GetTask", answer, same, same, "unary");
  const bound = await promisify(server.bindAsync.bind(server))(`127.0.0.1:${port}`, ServerCredentials.createInsecure());
  return { port: bound, [Symbol.dispose]: () => server.forceShutdown() };
}

it("the gRPC client finds an agent again that was away", async () => {
  const { port, ...first } = await answering(0);
  const client = createGrpcTransport({ adapter, address: `127.0.0.1:${port}` });
  await client.getTask(getTask, {});
  first[Symbol.dispose]();
  // The client may not have noticed the closed connection yet.
  await expect.poll(() => client.getTask(getTask, {}).catch(({ written }) => written)).toBe(false);
  using _again = await answering(port);
  await client.getTask(getTask, {});
  client.close();
});

type Break = (stream: ServerHttp2Stream, session: Http2Session | undefined) => void;

/** A server that accepts a call and then does anything but reply. */
async function breaking(act: Break) {
  const server = createServer();
  server.on("session", (session) => session.on("error", () => {}));
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    act(stream, stream.session);
  });
  return watched(server);
}

const grpcHeaders = { ":status": 200, "content-type": "application/grpc" };

const respondNothing: Break = (stream) => {
  stream.respond(grpcHeaders);
  stream.end();
};

describe("a call that breaks off", () => {
  it.each<[string, Break, boolean]>([
    ["with its connection", (_, session) => session?.destroy(), true],
    ["with a reset of the socket", (_, session) => session?.socket.resetAndDestroy(), true],
    ["when the peer cancels it", (stream) => stream.close(8), true],
    ["when the peer fails inside", (stream) => stream.close(2), true],
    ["without a status", respondNothing, true],
    ["when the peer refuses to look at it", (stream) => stream.close(7), false],
  ])("a gRPC call that breaks off %s is a connection error", async (_, act, written) => {
    await using server = await breaking(act);
    for (const failure of await failuresOf({ address: `127.0.0.1:${server.port}` })) {
      expect(failure).toBeInstanceOf(ConnectionError);
      expect(failure).toMatchObject({ written });
    }
  });

  it.each<[string, Break, object]>([
    [
      "the words of a client that has no connection",
      (stream) =>
        stream.respond(
          { ...grpcHeaders, "grpc-status": "14", "grpc-message": "No connection established" },
          { endStream: true },
        ),
      { code: "unavailable" },
    ],
    [
      "a web server",
      (stream) => stream.respond({ ":status": 404 }, { endStream: true }),
      { code: "methodNotFound", metadata: { httpStatus: "404" } },
    ],
  ])("a gRPC call with a status from %s is an answer", async (_, act, wanted) => {
    await using server = await breaking(act);
    for (const failure of await failuresOf({ address: `127.0.0.1:${server.port}` })) {
      expect(failure).not.toBeInstanceOf(ConnectionError);
      expect(failure).toMatchObject(wanted);
    }
  });
});

describe("a policy of addresses", () => {
  const loopback = addressPolicy("loopback", "test");
  const service = serviceOf({ sendMessage: async (request) => echo(request) });

  it.each([
    [["127.0.0.1"]],
    // The first address has no listener.
    [["::1", "127.0.0.1"]],
    [["127.0.0.9", "127.0.0.1"]],
  ])("the policy of addresses lets a gRPC call through to allowed addresses among %j", async (addresses) => {
    await using agent = await grpcAgent(service);
    const lookup = async () => addresses;
    const address = `agent.example:${agent.port}`;
    const client = createGrpcTransport({ adapter, address, policy: loopback, lookup });
    await client.sendMessage(hello, {});
    client.close();
  });

  it("the policy of addresses keeps the name that the certificate has to be for", async () => {
    await using agent = await grpcAgent(service, { tls: localTls });
    const at = (host: string) => ({
      address: `${host}:${agent.port}`,
      policy: loopback,
      lookup: async () => ["127.0.0.1"],
      tls: trusted,
    });
    const client = createGrpcTransport({ adapter, ...at("localhost") });
    await client.sendMessage(hello, {});
    client.close();
    expectUnwritten(await failuresOf(at("other.example")), /altnames/);
  });

  it.each([
    ["agent.example:50051", ["10.0.0.7"]],
    ["agent.example:50051", ["193.0.6.139", "127.0.0.1"]],
    ["agent.example:50051", []],
    ["http://127.0.0.1:50051", []],
    ["[::1]:50051", []],
    ["2130706433:50051", []],
  ])("the policy of addresses keeps gRPC calls away from %s at %j", async (address, addresses) => {
    const policy = clientPolicy({ cardHost: "agents.example" });
    const failures = await failuresOf({ address, policy, lookup: async () => addresses });
    expectUnwritten(failures, /may not be called, only addresses of the internet \(allowPrivate\)$/);
  });

  it.each(["unix:/run/agent.sock", "dns://10.0.0.1/agent.example", "ipv4:127.0.0.1:50051"])(
    "the policy of addresses keeps calls away from %s, which is for gRPC's own resolvers",
    async (address) => {
      const policy = clientPolicy({ cardHost: "agents.example" });
      const failures = await failuresOf({ address, policy, lookup: async () => ["193.0.6.139"] });
      expectUnwritten(
        failures,
        /needs gRPC's resolver \w+:, which is not supported \(accepted: host:port, or a URL of /,
      );
    },
  );

  it.each<[string, () => Promise<readonly string[]>, RegExp]>([
    [
      "fails",
      () => Promise.reject(new Error("getaddrinfo ENOTFOUND a.example")),
      /a\.example:1: getaddrinfo ENOTFOUND/,
    ],
    ["takes too long", () => new Promise(() => {}), /no connection within 30 ms$/],
  ])("the policy of addresses reports that there was no connection when the lookup %s", async (_, lookup, message) => {
    const options = { address: "a.example:1", policy: loopback, lookup, connectTimeoutMs: 30 };
    expectUnwritten(await failuresOf(options), message);
  });

  it("the policy of addresses checks a name again for each gRPC connection", async () => {
    await using first = await grpcAgent(service);
    const answers = [["127.0.0.1"]];
    const lookup = async () => answers.shift() ?? ["10.0.0.7"];
    const client = createGrpcTransport({ adapter, address: `a.example:${first.port}`, policy: loopback, lookup });
    await client.sendMessage(hello, {});
    await client.sendMessage(hello, {});
    await first[Symbol.asyncDispose]();
    await expect
      .poll(() => client.sendMessage(hello, {}).catch(({ message }) => message))
      .toMatch(/^a\.example may not be called/);
    client.close();
  });
});

it("a reader that stops slows the agent down over gRPC", async () => {
  let itemCount = 0;
  const endless = async function* (): AsyncGenerator<StreamItem> {
    for (;;) {
      const item = statusItem(++itemCount);
      const { payload } = item.response;
      if (payload.case === "statusUpdate") payload.value.contextId = "x".repeat(50_000);
      yield item;
    }
  };
  await using agent = await grpcAgent(serviceOf({ sendStreamingMessage: endless }));
  const iterator = agent.client.sendStreamingMessage(hello, {})[Symbol.asyncIterator]();
  await iterator.next();
  let before = -1;
  await expect
    .poll(
      () => {
        const moved = itemCount - before;
        before = itemCount;
        return moved;
      },
      { interval: 100 },
    )
    .toBe(0);
  expect(itemCount).toBeLessThan(100);
  for (let count = 0; count < 200; count++) await iterator.next();
  expect(itemCount).toBeGreaterThan(200);
  await iterator.return?.();
});
