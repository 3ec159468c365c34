import { once } from "node:events";
import { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:net";
import { serve } from "trivium";
import { expect, it, vi } from "vitest";
import { defaultListenerLimits } from "../../../src/binding/listen/connection.js";
import { createHttp1Engine } from "../../../src/binding/listen/http1-engine.js";
import { httpLine } from "../../support/raw-http.js";

it("idle connections are kept for longer than the pools of balancers keep them", async () => {
  const card = { name: "Idle", description: "Keeps connections", version: "1" };
  await using server = await serve({ card, agent: async () => {}, port: 0, logger: false });
  const response = await fetch(`${server.url}/healthz`);
  expect(response.headers.get("keep-alive")).toBe("timeout=75");
});

it("idle connections are closed at once where there are too many, and those with a request are not", async () => {
  const held = Promise.withResolvers<void>();
  const engine = createHttp1Engine(
    (request, response) => {
      if (request.url === "/held") void held.promise.then(() => response.end("held"));
      else response.end("done");
    },
    defaultListenerLimits,
    [],
    3,
  );
  let accepted = 0;
  const port = createServer((socket) => {
    accepted += 1;
    engine.accept(socket);
  }).listen(0, "127.0.0.1");
  await once(port, "listening");
  const { port: number } = port.address() as AddressInfo;
  const lines = [httpLine(number), httpLine(number), httpLine(number)];
  const [busy, ...idle] = lines;
  const answer = busy?.ask({ target: "/held" });
  for (const line of idle) expect((await line.ask({ target: "/" })).status).toBe(200);
  const fourth = httpLine(number);
  expect((await fourth.ask({ target: "/" })).status).toBe(200);
  // Their agents connect anew.
  for (const line of idle) expect((await line.ask({ target: "/" })).status).toBe(200);
  expect(accepted).toBe(6);
  held.resolve();
  expect((await answer)?.text).toBe("held");
  for (const line of [...lines, fourth]) line[Symbol.dispose]();
  engine.close();
  port.close();
});

it("many open connections cost a new one little: not each walks over all to find idle ones", async () => {
  using walks = vi.spyOn(Server.prototype, "closeIdleConnections");
  const openMax = 16;
  const engine = createHttp1Engine(() => {}, defaultListenerLimits, [], openMax);
  const port = createServer(engine.accept).listen(0, "127.0.0.1");
  await once(port, "listening");
  const { port: number } = port.address() as AddressInfo;
  const sockets = [];
  for (let index = 0; index < 2 * openMax; index++) {
    const socket = connect(number, "127.0.0.1").on("error", () => {});
    sockets.push(socket);
    await Promise.all([once(socket, "connect"), once(port, "connection")]);
  }
  expect(walks.mock.calls.length).toBeGreaterThan(0);
  expect(walks.mock.calls.length).toBeLessThanOrEqual(openMax / 2);
  for (const socket of sockets) socket.destroy();
  engine.close();
  port.close();
});
