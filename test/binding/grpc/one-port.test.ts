import { connect as http2Connect } from "node:http2";
import { expect, it } from "vitest";
import { createGrpcTransport } from "../../../src/binding/grpc/client.js";
import type { RequestListener } from "../../../src/binding/listen/connection.js";
import { echo, serviceOf, statusItem } from "../../support/echo-service.js";
import { adapter, grpcAgent } from "../../support/grpc-agent.js";
import { frame, rawSession } from "../../support/grpc-raw.js";
import { getOverHttp1, getOverHttp2, http2Session, wireTo } from "../../support/http-calls.js";
import { itemsOf } from "../../support/items.js";
import { hello } from "../../support/requests.js";
import { localTls } from "../../support/tls.js";

const http: RequestListener = (request, response) => {
  response.end(`${request.httpVersion} ${request.url}`);
};

const service = serviceOf({
  sendMessage: async (request) => echo(request),
  async *sendStreamingMessage() {
    for (let number = 0; number < 100; number++) yield statusItem(number);
  },
});

it("a server serves gRPC, HTTP/1.1 and HTTP/2 on one port at once", async () => {
  await using agent = await grpcAgent(service, { http });
  const session = await http2Session(agent.port);
  const rounds = Array.from({ length: 30 }, async () => {
    const [grpc, stream, http1, http2] = await Promise.all([
      agent.client.sendMessage(hello, {}),
      itemsOf(agent.client.sendStreamingMessage(hello, {})),
      getOverHttp1(agent.port, "/one"),
      getOverHttp2(session, "/two"),
    ]);
    expect(grpc).toEqual(echo(hello));
    expect(stream).toHaveLength(100);
    expect([http1.body, http2.body]).toEqual(["1.1 /one", "2.0 /two"]);
  });
  await Promise.all(rounds);
  session.close();
});

it.each([
  ["application/grpc", true],
  ["application/grpc+proto", true],
  ["application/grpc-web", false],
  ["application/grpc-web+proto", false],
  ["application/json", false],
  [undefined, false],
])("a request of type %s is gRPC on a shared HTTP/2 connection: %s", async (contentType, grpc) => {
  await using agent = await grpcAgent(service, { http });
  using raw = rawSession(agent.port);
  const { headers, status } = await raw.call("GetTask", frame(Buffer.from([0x12, 0x01, 0x74])), {
    "content-type": contentType,
  });
  expect(headers[":status"]).toBe(200);
  expect(Number.isNaN(status)).toBe(!grpc);
});

// Requirements: V03-GRPC-2
it("a server serves gRPC, HTTP/1.1 and HTTP/2 in TLS on one port, by ALPN", async () => {
  await using agent = await grpcAgent(service, { http, tls: localTls });
  const client = createGrpcTransport({
    address: `https://localhost:${agent.port}`,
    adapter,
    tls: { ca: localTls.cert },
  });
  expect(await client.sendMessage(hello, {})).toEqual(echo(hello));
  const session = http2Connect(`https://localhost:${agent.port}`, { ca: localTls.cert });
  expect((await getOverHttp2(session, "/tls")).body).toBe("2.0 /tls");
  session.close();
  client.close();
});

it("a gRPC port of its own serves only gRPC", async () => {
  await using agent = await grpcAgent(service);
  expect(await agent.client.sendMessage(hello, {})).toEqual(echo(hello));
  expect((await getOverHttp1(agent.port, "/")).status).toBe(505);
  const session = await http2Session(agent.port);
  expect((await getOverHttp2(session, "/")).status).toBe(505);
  session.close();
});

it("a shared port drains: calls under way end well, and then the connections", async () => {
  const arrived = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  await using agent = await grpcAgent(
    serviceOf({
      sendMessage: async (request) => {
        arrived.resolve();
        await go.promise;
        return echo(request);
      },
    }),
  );
  const answer = agent.client.sendMessage(hello, {});
  await arrived.promise;
  const drained = agent.listener.drain(60_000);
  go.resolve();
  expect(await answer).toEqual(echo(hello));
  await drained;
  await expect(agent.client.sendMessage(hello, {})).rejects.toMatchObject({ code: "unavailable" });
});

it("a shared port drains: a stream that never ends is cut off in the end", async () => {
  const left = Promise.withResolvers<void>();
  await using agent = await grpcAgent(
    serviceOf({
      async *sendStreamingMessage(_, { signal }) {
        yield statusItem(1);
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        left.resolve();
      },
    }),
  );
  const events = agent.client.sendStreamingMessage(hello, {})[Symbol.asyncIterator]();
  await events.next();
  await agent.listener.drain(50);
  await expect(events.next()).rejects.toMatchObject({ code: "unavailable" });
  await left.promise;
});

it("a server survives garbage on a gRPC connection", async () => {
  await using agent = await grpcAgent(service, { http });
  const wire = wireTo(agent.port);
  wire.socket.write(Buffer.from(`PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${"\xff".repeat(64)}`, "latin1"));
  await wire.whenClosed;
  expect(await agent.client.sendMessage(hello, {})).toEqual(echo(hello));
});

it("a server cuts off a gRPC client that resets ten thousand calls, and serves the others", async () => {
  await using agent = await grpcAgent(service, { http });
  using raw = rawSession(agent.port);
  raw.session.on("error", () => {});
  const gone = new Promise<void>((resolve) => raw.session.on("close", resolve));
  for (let count = 0; count < 10_000 && !raw.session.closed && !raw.session.destroyed; count++) {
    const stream = raw.session.request({
      ":method": "POST",
      ":path": "/lf.a2a.v1.A2AService/SendMessage",
      "content-type": "application/grpc",
    });
    stream.on("error", () => {});
    stream.close(8);
    if (count % 50 === 49) await new Promise((resolve) => setImmediate(resolve));
  }
  await gone;
  expect(await agent.client.sendMessage(hello, {})).toEqual(echo(hello));
});
