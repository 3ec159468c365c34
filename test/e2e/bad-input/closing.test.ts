import { once } from "node:events";
import { working } from "trivium";
import { expect, it, onTestFinished } from "vitest";
import { http2Session, wireTo } from "../../support/http-calls.js";
import { openStream, say } from "../../support/say.js";
import { startAgent } from "../../support/serve-agent.js";

// A closing server closes whatever its clients left open.

/** Open sockets and servers of this process. */
function openHandles(): number {
  return process.getActiveResourcesInfo().filter((kind) => /^(TCP|TLS|Pipe|HTTP)/.test(kind)).length;
}

/** Uncaught errors during a test. */
function uncaught(): readonly unknown[] {
  const faults: unknown[] = [];
  const note = (fault: unknown): void => void faults.push(fault);
  for (const event of ["uncaughtException", "unhandledRejection"]) process.on(event, note);
  onTestFinished(() => {
    for (const event of ["uncaughtException", "unhandledRejection"]) process.off(event, note);
  });
  return faults;
}

const head = "POST /json-rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

it("a server closes connections of every kind, and leaves no socket open", async () => {
  const faults = uncaught();
  const before = openHandles();
  const served = await startAgent("JSONRPC", {
    limits: { graceMs: 100 },
    async *agent({ signal }) {
      yield working();
      await once(signal, "abort");
    },
  });
  const { port, grpcPort } = served.server;
  const wires = [
    "",
    "POST /js",
    "PRI * HTTP/2.0\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    `${head}Content-Length: 100\r\n\r\n{"half"`,
    `${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"hal`,
    "GET /.well-known/agent-card.json HTTP/1.1\r\nHost: localhost\r\n\r\n",
  ].map((bytes) => {
    const wire = wireTo(port);
    wire.socket.write(bytes);
    return wire;
  });
  const session = await http2Session(grpcPort);
  const sessionClosed = once(session, "close");
  const streams = await Promise.all(
    (["JSONRPC", "HTTP+JSON", "GRPC", "CONNECT", "grpc-web"] as const).map(async (wire) => {
      const { readRest: rest } = await openStream(served.clientOver(wire).sendStreamingMessage(say("go"), {}));
      return { ended: rest().catch(() => []) };
    }),
  );
  // Both ends of each wire are in this process.
  expect(openHandles()).toBeGreaterThan(2 * wires.length);

  await served[Symbol.asyncDispose]();
  await Promise.all([
    ...wires.map(({ whenClosed: closed }) => closed),
    ...streams.map(({ ended }) => ended),
    sessionClosed,
  ]);
  await expect.poll(openHandles).toBeLessThanOrEqual(before);
  expect(faults).toEqual([]);
});

it("a server may be closed twice, and closes at once while calls arrive", async () => {
  const faults = uncaught();
  const before = openHandles();
  const served = await startAgent("JSONRPC", { limits: { graceMs: 50 }, agent: async () => {} });
  const calls = Array.from({ length: 20 }, () =>
    served.client.sendMessage(say("go"), {}).catch((error: unknown) => error),
  );
  await Promise.all([served.server.close(), served.server.close()]);
  await Promise.all(calls);
  await served[Symbol.asyncDispose]();
  await expect.poll(openHandles).toBeLessThanOrEqual(before);
  expect(faults).toEqual([]);
});
