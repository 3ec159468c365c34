import { once } from "node:events";
import { Agent } from "node:http";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createListener } from "../../../src/binding/listen/listener.js";
import { getOverHttp1, getOverHttp2, http2Session, wireTo } from "../../support/http-calls.js";

/** A listener whose requests wait until they are released. */
async function waiting() {
  const arrived: (() => void)[] = [];
  const responses: (() => void)[] = [];
  const listener = await createListener({
    host: "127.0.0.1",
    port: 0,
    limits: { headerTimeoutMs: 60_000, keepAliveIdleMs: 60_000 },
    http: (_, response) => {
      responses.push(() => response.end("done"));
      arrived.shift()?.();
    },
  });
  return {
    listener,
    arrival: () => new Promise<void>((resolve) => arrived.push(resolve)),
    letGo: () => {
      for (const respond of responses.splice(0)) respond();
    },
  };
}

it("the drain of a listener waits for requests of either protocol, and destroys nothing", async () => {
  const { listener, arrival, letGo } = await waiting();
  const agent = new Agent({ keepAlive: true });
  const session = await http2Session(listener.port);
  const both = Promise.all([arrival(), arrival()]);
  const answers = Promise.all([getOverHttp1(listener.port, "/", agent), getOverHttp2(session, "/")]);
  await both;
  const goaway = new Promise((resolve) => session.once("goaway", resolve));
  const drained = listener.drain(60_000);
  await goaway;
  letGo();
  expect(await answers).toMatchObject([{ body: "done" }, { body: "done" }]);
  await drained;
  await expect(getOverHttp1(listener.port, "/")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  agent.destroy();
});

it("the drain of a listener ends idle connections at once", async () => {
  const { listener, arrival, letGo } = await waiting();
  const agent = new Agent({ keepAlive: true });
  const here = arrival();
  const answer = getOverHttp1(listener.port, "/", agent);
  await here;
  letGo();
  await answer;
  const session = await http2Session(listener.port);
  const silent = wireTo(listener.port);
  await new Promise((resolve) => silent.socket.once("connect", resolve));
  await listener.drain(60_000);
  await silent.whenClosed;
  expect(session.closed || session.destroyed).toBe(true);
  agent.destroy();
});

it("the drain of a listener destroys connections that do not end in time", async () => {
  const { listener, arrival } = await waiting();
  const session = await http2Session(listener.port);
  const both = Promise.all([arrival(), arrival()]);
  const stuck = Promise.allSettled([getOverHttp1(listener.port, "/"), getOverHttp2(session, "/")]);
  await both;
  await listener.drain(50);
  expect((await stuck).map(({ status }) => status)).not.toContain("fulfilled");
});

describe("a connection that comes just before the port closes", () => {
  /** Connects, and sends `text` when the port has begun to close and has read everything that had arrived. */
  async function sendLate(text: string) {
    const listener = await createListener({
      host: "127.0.0.1",
      port: 0,
      http: (_, response) => void response.end("done"),
    });
    const wire = wireTo(listener.port);
    await once(wire.socket, "connect");
    const drained = listener.drain(60_000);
    for (let round = 0; round < 20; round += 1) await setImmediate();
    wire.socket.write(text, "latin1");
    const [answer] = await Promise.all([wire.whenClosed, drained]);
    return answer;
  }

  it("a connection over HTTP/1.1 that comes just before the port closes gets an answer, and ends", async () => {
    const answer = await sendLate("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*connection: close[\s\S]*done/i);
  });

  it("a connection over HTTP/2 that comes just before the port closes gets an answer, and ends", async () => {
    const settings = "\0\0\0\x04\0\0\0\0\0";
    // :method GET, :scheme http, :path /, and :authority a (RFC 7541, 6.1 and 6.2.2).
    const headers = "\0\0\x06\x01\x05\0\0\0\x01\x82\x86\x84\x01\x01a";
    const answer = await sendLate(`PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${settings}${headers}`);
    expect(answer).toContain("done");
  });
});
