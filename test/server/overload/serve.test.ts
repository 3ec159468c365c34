import { Client, completed, serve, working } from "trivium";
import { describe, expect, it } from "vitest";
import { bindingNames } from "../../../src/protocol/bindings.js";
import { frame, rawSession } from "../../support/grpc-raw.js";
import { postJson, rawCall } from "../../support/http-agent.js";
import { errorOf } from "../../support/say.js";
import { createVirtualClock, turnUntil } from "../../support/virtual-clock.js";

const message = (text: string) => ({ message: { messageId: text, role: "ROLE_USER", parts: [{ text }] } });
const rpc = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params });

/** A server on which a round of the event loop takes as long as the test says. */
async function start(limits: object = {}) {
  const clock = createVirtualClock();
  const loop = { roundMs: 0 };
  const server = await serve({
    card: { name: "Loaded", description: "Is overloaded", version: "1.0.0" },
    port: 0,
    drainMs: 0,
    // The timer of one millisecond fires when a round of the event loop has passed.
    clock: { ...clock, after: (ms, run) => clock.after(ms === 1 ? 1 + loop.roundMs : ms, run) },
    limits,
    agent: async function* ({ text }) {
      yield working();
      yield completed(text);
    },
  });
  const raw = rawSession(server.port);
  const send = (text = "go") => postJson(`${server.url}/json-rpc`, rpc("SendMessage", message(text)));
  return {
    clock,
    server,
    raw,
    send,
    /** Makes rounds of the event loop take this long until they count. */
    async slow(roundMs: number) {
      loop.roundMs = roundMs;
      await send();
      await clock.advance(5 * (251 + roundMs));
    },
    async ready() {
      const { status, text } = await rawCall(`${server.url}/readyz`, { method: "GET" });
      const { body } = await raw.call("", frame(Buffer.alloc(0)), { ":path": "/grpc.health.v1.Health/Check" });
      return [status, JSON.parse(text).status, body.at(-1)];
    },
    async [Symbol.asyncDispose]() {
      raw[Symbol.dispose]();
      await turnUntil(clock, server.close());
    },
  };
}

describe("an overloaded server", () => {
  it.each(bindingNames)(
    "an overloaded server refuses sends over %s with UNAVAILABLE, the limit and a time to wait, and answers reads",
    async (binding) => {
      await using scene = await start();
      const client = await Client.connect(scene.server.url, { prefer: [binding], retry: false });
      const { taskId = "" } = await client.send("before");
      await scene.slow(1500);
      const refused = { code: "unavailable", metadata: { limit: "eventLoopMaxMs" }, retryAfterMs: 2000 };
      expect(await errorOf(client.send("go"))).toMatchObject(refused);
      expect(await errorOf(client.stream("go"))).toMatchObject(refused);
      expect((await client.wait(taskId)).state).toBe("completed");
      await client.close();
    },
  );

  it("an overloaded server answers 503 with Retry-After", async () => {
    await using scene = await start();
    await scene.slow(1500);
    const { status, headers, text } = await scene.send();
    expect([status, headers["retry-after"]]).toEqual([503, "2"]);
    expect(JSON.parse(text).error).toMatchObject({
      message:
        "the server is overloaded: a round of the event loop takes 1500 ms, the limit is 1000 ms (eventLoopMaxMs)",
      data: [{ reason: "UNAVAILABLE", metadata: { limit: "eventLoopMaxMs" } }, { retryDelay: "2s" }],
    });
    await scene.slow(0);
    expect((await scene.send()).status).toBe(200);
  });

  it("an overloaded server stays ready for 30 s, and is not ready while it refuses every send for longer", async () => {
    await using scene = await start();
    const { clock, ready, send, slow } = scene;
    expect(await ready()).toEqual([200, "ready", 1]);
    // Four of these are shorter than five times the limit.
    await slow(1200);
    expect((await send()).status).toBe(503);
    await clock.advance(29_000);
    expect(await ready()).toEqual([200, "ready", 1]);
    await clock.advance(2000);
    expect(await ready()).toEqual([503, "overloaded", 2]);
    await slow(0);
    // The round that had begun was long.
    await clock.advance(1500);
    expect(await ready()).toEqual([200, "ready", 1]);
  });

  it("an overloaded server stays ready as long as only excess is refused", async () => {
    await using scene = await start();
    await scene.slow(700);
    await scene.clock.advance(100_000);
    expect(await scene.ready()).toEqual([200, "ready", 1]);
  });

  it("an overloaded server refuses nothing where the measure is switched off", async () => {
    await using scene = await start({ eventLoopMaxMs: false });
    await scene.slow(5000);
    expect((await scene.send()).status).toBe(200);
  });
});

it.each([
  [{ heapMaxRatio: 70 }, "limits.heapMaxRatio must be false or a number above 0 and up to 1, not 70"],
  [{ containerMaxRatio: 0 }, "limits.containerMaxRatio must be false or a number above 0 and up to 1, not 0"],
  [{ eventLoopMaxMs: 0 }, "limits.eventLoopMaxMs must be false or a whole number of 1 or more, not 0"],
  [
    { heapMaxRatio: true },
    "limits.heapMaxRatio must be false or a number above 0 and up to 1, not a value of type boolean",
  ],
  [{ heapMaxRatios: 1 }, "limits.heapMaxRatios cannot be given: did you mean heapMaxRatio?"],
])("the limits of overload are checked at start: %j", async (limits, problem) => {
  await expect(start(limits)).rejects.toThrow(problem);
});
