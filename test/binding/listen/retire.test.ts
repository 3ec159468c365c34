import { once } from "node:events";
import { Agent } from "node:http";
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { createConnection } from "node:net";
import { expect, it } from "vitest";
import { createGrpcTransport } from "../../../src/binding/grpc/client.js";
import { createListener, type Listener, type ListenerOptions } from "../../../src/binding/listen/listener.js";
import { echo, serviceOf } from "../../support/echo-service.js";
import { adapter, grpcAgent } from "../../support/grpc-agent.js";
import { getOverHttp1, getOverHttp2, http2Session } from "../../support/http-calls.js";
import { say } from "../../support/say.js";
import { silentRelay } from "../../support/silent-relay.js";
import { localTls } from "../../support/tls.js";

// A connection that ends must not cost a request that its peer sent before it knew.

const answering = (_: unknown, response: { end(text: string): unknown }): void => void response.end("done");

function listen(options: Partial<ListenerOptions> = {}): Promise<Listener> {
  return createListener({ host: "127.0.0.1", port: 0, http: answering, ...options });
}

async function session(url: string): Promise<ClientHttp2Session> {
  const opened = connect(url, { rejectUnauthorized: false });
  await once(opened, "remoteSettings");
  return opened;
}

/** Sends GOAWAY while a second request of the caller is on its way. */
async function whileOnItsWay(listener: Listener, scheme: "http" | "https") {
  await using relay = await silentRelay(listener.port);
  const caller = await session(`${scheme}://127.0.0.1:${relay.port}`);
  await getOverHttp2(caller, "/");
  const lastStreams: number[] = [];
  caller.on("goaway", (_code, last) => lastStreams.push(Number(last)));
  relay.silence();
  const retired = listener.retire(60_000);
  const stream = caller.request({ ":path": "/" });
  stream.on("error", () => {}).resume();
  const closed = new Promise((resolve) => stream.once("close", resolve));
  relay.restore();
  await closed;
  await retired;
  if (!caller.destroyed) await once(caller, "close");
  await listener.close();
  return { lastStreams, rstCode: stream.rstCode };
}

it.each(["alone", "beside gRPC"])(
  "a port that retires answers requests that are on their way when it sends GOAWAY, %s",
  async (place) => {
    const service = serviceOf({});
    const { listener } =
      place === "alone" ? { listener: await listen() } : await grpcAgent(service, { http: answering });
    const { lastStreams, rstCode } = await whileOnItsWay(listener, "http");
    expect(lastStreams[0]).toBe(2 ** 31 - 1);
    expect(rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  },
);

it("over TLS, requests under way when a port sends GOAWAY are refused so that they may be repeated", async () => {
  const { lastStreams, rstCode } = await whileOnItsWay(await listen({ tls: localTls }), "https");
  expect(lastStreams[0]).toBe(1);
  expect(rstCode).toBe(constants.NGHTTP2_REFUSED_STREAM);
});

it.each([
  { way: "without TLS", tls: undefined },
  { way: "over TLS", tls: localTls },
])("gRPC calls that are on their way when a port sends GOAWAY succeed, $way", async ({ tls }) => {
  const service = serviceOf({ sendMessage: async (request) => echo(request) });
  await using agent = await grpcAgent(service, { ...(tls === undefined ? {} : { tls }) });
  await using relay = await silentRelay(agent.port);
  const address = `localhost:${relay.port}`;
  const ca = tls && { ca: tls.cert };
  const client = createGrpcTransport({ address, adapter, tls: ca });
  const send = () => client.sendMessage(say("hello"), {});
  await send();
  relay.silence();
  const retired = agent.listener.retire(60_000);
  const late = Promise.all([send(), send()]);
  relay.restore();
  expect((await late).map(({ payload }) => payload.case)).toEqual(["message", "message"]);
  await retired;
  client.close();
});

it.each([0, 1_000])(
  "a port that retires answers the first request of a connection that has begun at the GOAWAY, waiting %i ms",
  async (ms) => {
    const listener = await listen();
    const socket = createConnection(listener.port, "127.0.0.1");
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    // The settings of the server, which has the connection now.
    const [first] = (await once(socket, "data")) as [Buffer];
    const retired = listener.retire(ms);
    const pieces = [first];
    socket.on("data", (piece: Buffer) => pieces.push(piece));
    const settings = http2Frame(4, 0, 0, []);
    // GET / over http, in the indexed form of HPACK, which ends the headers and the stream.
    const request = http2Frame(1, 5, 1, [0x82, 0x86, 0x84, 0x41, 1, 0x78]);
    socket.write(Buffer.concat([settings, request]));
    await once(socket, "close");
    await retired;
    // The answer begins with `:status 200`.
    expect(Buffer.concat(pieces).includes(Buffer.from([1, 4, 0, 0, 0, 1, 0x88]))).toBe(true);
    await listener.close();
  },
);

function http2Frame(type: number, flags: number, stream: number, payload: readonly number[]): Buffer {
  return Buffer.from([0, 0, payload.length, type, flags, 0, 0, 0, stream, ...payload]);
}

it("a port that retires waits for a peer that confirms nothing only as long as it is told to", async () => {
  const listener = await listen();
  await using relay = await silentRelay(listener.port);
  await session(`http://127.0.0.1:${relay.port}`).then((caller) => caller.on("error", () => {}));
  relay.silence();
  await listener.retire(20);
  await listener.close();
});

it("a port that retires leaves idle HTTP/1.1 connections open for a last request, which closes them", async () => {
  const listener = await listen();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  expect(await getOverHttp1(listener.port, "/", agent)).toMatchObject({ connection: "keep-alive" });
  const retired = listener.retire(60_000);
  expect(await getOverHttp1(listener.port, "/", agent)).toMatchObject({ body: "done", connection: "close" });
  await retired;
  agent.destroy();
  await listener.close();
});

it("a listener closes connections of their full age: HTTP/2 by GOAWAY, HTTP/1.1 with the next response", async () => {
  const responses: { end(text: string): unknown }[] = [];
  const listener = await listen({
    limits: { maxConnectionAgeMs: 200 },
    http: (request, response) =>
      request.url === "/held" ? void responses.push(response) : answering(request, response),
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const caller = await http2Session(listener.port);
  const held = getOverHttp2(caller, "/held");
  await once(caller, "goaway");
  for (const response of responses) response.end("held back");
  expect(await held).toMatchObject({ body: "held back" });
  if (!caller.destroyed) await once(caller, "close");
  await expect.poll(async () => (await getOverHttp1(listener.port, "/", agent)).connection).toBe("close");
  agent.destroy();
  await listener.close();
});

it("a listener destroys a connection that outlives its age by the grace", async () => {
  const listener = await listen({ limits: { maxConnectionAgeMs: 200, maxConnectionAgeGraceMs: 20 }, http: () => {} });
  const caller = await http2Session(listener.port);
  await expect(Promise.all([getOverHttp2(caller, "/"), getOverHttp1(listener.port, "/")])).rejects.toThrow();
  if (!caller.destroyed) await once(caller, "close");
  await listener.close();
});
