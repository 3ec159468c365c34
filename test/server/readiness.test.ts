import { once } from "node:events";
import { expect, it } from "vitest";
import { working } from "../../src/protocol/events.js";
import { createReadiness } from "../../src/server/readiness.js";
import { serve } from "../../src/server/serve.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { frame, rawSession } from "../support/grpc-raw.js";
import { rawCall } from "../support/http-agent.js";
import { storeLine } from "../support/store-line.js";
import { createVirtualClock, turnUntil } from "../support/virtual-clock.js";

async function start() {
  const clock = createVirtualClock();
  const line = storeLine(memoryTaskStore({ clock }));
  const server = await serve({
    card: { name: "Watched", description: "Is probed", version: "1.0.0" },
    port: 0,
    drainMs: 0,
    clock,
    store: line.store,
    agent: async () => working("done"),
  });
  const raw = rawSession(server.port);
  const get = async (path: string) => {
    const { status, text } = await rawCall(server.url + path, { method: "GET" });
    return `${status} ${JSON.parse(text).status}`;
  };
  return {
    clock,
    line,
    server,
    /** The answers of both health checks over HTTP, and of that of gRPC: 1 is SERVING, 2 is NOT_SERVING. */
    async probe() {
      const { body } = await raw.call("", frame(Buffer.alloc(0)), { ":path": "/grpc.health.v1.Health/Check" });
      return [await get("/healthz"), await get("/readyz"), body.at(-1)];
    },
    async [Symbol.asyncDispose]() {
      raw[Symbol.dispose]();
      await turnUntil(clock, server.close());
    },
  };
}

const ready = ["200 ok", "200 ready", 1];
const away = ["200 ok", "503 store-away", 2];

it("/readyz and the health service of gRPC follow a store that is away after 10 s, and at once when it is back; /healthz never does", async () => {
  await using scene = await start();
  const { clock, line, probe } = scene;
  expect(await probe()).toEqual(ready);
  line.cut();
  // The heartbeat notices after 3 s.
  await clock.advance(12_900);
  expect(await probe()).toEqual(ready);
  await clock.advance(200);
  expect(await probe()).toEqual(away);
  await clock.advance(600_000);
  expect(await probe()).toEqual(away);
  line.restore();
  await clock.advance(1000);
  expect(await probe()).toEqual(ready);
});

it("a store that is back in time is not noticed by readiness checks", async () => {
  await using scene = await start();
  const { clock, line, probe } = scene;
  for (let round = 0; round < 4; round += 1) {
    line.cut();
    await clock.advance(9000);
    line.restore();
    await clock.advance(2000);
    expect(await probe()).toEqual(ready);
  }
  await clock.advance(20_000);
  expect(await probe()).toEqual(ready);
});

it("a full store counts as away for readiness", async () => {
  await using scene = await start();
  const { clock, line, probe, server } = scene;
  line.fill();
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] };
  const call = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
  const headers = { "content-type": "application/json", "a2a-version": "1.0" };
  const answer = rawCall(`${server.url}/json-rpc`, { headers, body: JSON.stringify(call) });
  let isOver = false;
  const refused = answer.finally(() => {
    isOver = true;
  });
  while (!isOver) await clock.advance(100);
  // The agent had started when its first write found no room: nobody but the caller may repeat that.
  expect((await refused).status).toBe(502);
  await clock.advance(11_000);
  expect(await probe()).toEqual(away);
  line.restore();
  await clock.advance(1000);
  expect(await probe()).toEqual(ready);
});

it("a server that drains stays unready when its store comes back", () => {
  const readiness = createReadiness();
  const reports: boolean[] = [];
  readiness.watch((isReady) => reports.push(isReady));
  readiness.setStoreReady(false);
  readiness.drain();
  readiness.setStoreReady(true);
  expect([readiness.status, reports]).toEqual(["draining", [false, false, false]]);
});

it("during `lameDuckMs` a server is not ready and takes work, and then it closes its connections", async () => {
  const clock = createVirtualClock();
  const server = await serve({
    card: { name: "Lame", description: "Leaves in peace", version: "1.0.0" },
    port: 0,
    lameDuckMs: 5_000,
    clock,
    agent: async () => working("done"),
  });
  const raw = rawSession(server.port);
  const readyz = async () => (await rawCall(`${server.url}/readyz`, { method: "GET" })).status;
  const health = async () => {
    const { body } = await raw.call("", frame(Buffer.alloc(0)), { ":path": "/grpc.health.v1.Health/Check" });
    return body.at(-1);
  };
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] };
  const send = () => {
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const call = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
    return rawCall(`${server.url}/json-rpc`, { headers, body: JSON.stringify(call) });
  };
  expect([await readyz(), await health(), (await send()).status]).toEqual([200, 1, 200]);
  const closed = server.close();
  await clock.advance(4_900);
  expect([await readyz(), await health(), (await send()).status]).toEqual([503, 2, 200]);
  expect(raw.session.closed).toBe(false);
  const goAway = once(raw.session, "goaway");
  await clock.advance(200);
  await goAway;
  raw[Symbol.dispose]();
  // Balancers that ask nobody learn by refusals, before connects fail.
  let status = 200;
  while (status === 200) status = (await send()).status;
  expect(status).toBe(503);
  await clock.advance(800);
  expect([await readyz(), (await send()).status]).toEqual([503, 503]);
  await turnUntil(clock, closed);
  await expect(readyz()).rejects.toThrow("ECONN");
});
