import { channel } from "node:diagnostics_channel";
import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { artifact, completed } from "trivium";
import { afterAll, beforeAll, expect, it } from "vitest";
import { findOperation } from "../../../src/protocol/operations.js";
import { frame } from "../../support/grpc-raw.js";
import { http2Session, wireTo } from "../../support/http-calls.js";
import { encodeLoosely } from "../../support/raw-grpc.js";
import { type ServedAgent, startAgent } from "../../support/serve-agent.js";

// A client that opens a stream and does not read it. Buffers in this process stay small, the agent is not held up, and
// a late reader still gets everything.

const events = 300;
const eventBytes = 64 * 1024;
/**
 * What may be buffered for one reader: the buffers of the socket, the stream and the subscription, but not the whole
 * stream.
 */
const waitingMaxBytes = 8 * eventBytes;

/** A server-side buffer. */
interface Buffered {
  readonly writableLength: number;
  readonly destroyed: boolean;
}

let served: ServedAgent;
let finished = Promise.withResolvers<void>();
const buffers = new Set<Buffered>();
const watched = {
  "http.server.request.start": (event: unknown) => buffers.add((event as { socket: Buffered }).socket),
  "http2.server.stream.created": (event: unknown) => buffers.add((event as { stream: Buffered }).stream),
};

beforeAll(async () => {
  for (const [name, watch] of Object.entries(watched)) channel(name).subscribe(watch);
  const text = "x".repeat(eventBytes);
  served = await startAgent("JSONRPC", {
    async *agent() {
      for (let event = 0; event < events; event++) yield artifact(text, { artifactId: "a", lastChunk: true });
      yield completed();
      finished.resolve();
    },
  });
});

afterAll(async () => {
  for (const [name, watch] of Object.entries(watched)) channel(name).unsubscribe(watch);
  await served[Symbol.asyncDispose]();
});

const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] };

function waiting(): number {
  return [...buffers].reduce((sum, { writableLength, destroyed }) => (destroyed ? sum : sum + writableLength), 0);
}

async function expectAgentGoesOn(): Promise<void> {
  await finished.promise;
  finished = Promise.withResolvers();
  await stillness();
  expect(waiting()).toBeGreaterThan(0);
  expect(waiting()).toBeLessThan(waitingMaxBytes);
}

/** Lets the server do everything it can do by itself. */
async function stillness(): Promise<void> {
  let waitingBytes = -1;
  for (let quiet = 0; quiet < 100; quiet++) {
    if (waiting() !== waitingBytes) quiet = 0;
    waitingBytes = waiting();
    await setImmediate();
  }
}

it("an HTTP event stream waits for its reader, then arrives whole", async () => {
  const { socket, whenClosed: closed } = wireTo(served.server.port);
  socket.pause();
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params: { message } });
  socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n`);
  socket.write(`Content-Length: ${body.length}\r\n\r\n${body}`);
  await expectAgentGoesOn();
  socket.resume();
  const reply = await closed;
  expect(reply.match(/"artifactUpdate":/g)).toHaveLength(events);
  expect(reply).toContain("TASK_STATE_COMPLETED");
});

it("a gRPC stream waits for its reader, then arrives whole", async () => {
  const session = await http2Session(served.server.grpcPort);
  const stream = session.request({
    ":method": "POST",
    ":path": "/lf.a2a.v1.A2AService/SendStreamingMessage",
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.pause();
  stream.end(frame(encodeLoosely(findOperation("sendStreamingMessage").input, { message })));
  await expectAgentGoesOn();
  let bytes = 0;
  stream.on("data", (piece: Buffer) => {
    bytes += piece.length;
  });
  stream.resume();
  const [trailers] = (await once(stream, "trailers")) as [Record<string, string>];
  expect(trailers["grpc-status"]).toBe("0");
  expect(bytes).toBeGreaterThan(events * eventBytes);
  session.destroy();
});

it("a reader that disconnects leaves nothing behind", async () => {
  const { socket } = wireTo(served.server.port);
  socket.pause();
  const body = JSON.stringify({ message });
  socket.write(`POST /http-json/message:stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`);
  socket.write(`Content-Length: ${body.length}\r\n\r\n${body}`);
  await expectAgentGoesOn();
  socket.resetAndDestroy();
  await expect.poll(() => [...buffers].every(({ destroyed }) => destroyed)).toBe(true);
});
