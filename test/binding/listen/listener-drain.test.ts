import { Agent } from "node:http";
import { expect, it } from "vitest";
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

it("waits for requests under way on either protocol, and then ends without being destroyed", async () => {
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

it("ends idle connections at once", async () => {
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

it("destroys connections that do not end in time", async () => {
  const { listener, arrival } = await waiting();
  const session = await http2Session(listener.port);
  const both = Promise.all([arrival(), arrival()]);
  const stuck = Promise.allSettled([getOverHttp1(listener.port, "/"), getOverHttp2(session, "/")]);
  await both;
  await listener.drain(50);
  expect((await stuck).map(({ status }) => status)).not.toContain("fulfilled");
});
