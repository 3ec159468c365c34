import { setImmediate as nextRound } from "node:timers/promises";
import { completed, serve, working } from "trivium";
import { expect, it } from "vitest";
import { postJson } from "../../support/http-agent.js";

const eventLoopMaxMs = 100;
const sliceMs = 400;

/** Keeps the event loop for so long. */
function compute(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

it("an agent that computes again and again has sends refused after a few of its computations", async () => {
  let slices = 0;
  await using server = await serve({
    card: { name: "Computing", description: "Keeps the event loop", version: "1.0.0" },
    port: 0,
    drainMs: 0,
    limits: { eventLoopMaxMs, heapMaxRatio: false },
    async *agent({ text, signal }) {
      if (text !== "compute") return yield completed();
      yield working();
      for (; slices < 40 && !signal.aborted; slices++) {
        compute(sliceMs);
        await nextRound();
      }
      yield completed();
    },
  });
  let count = 0;
  const send = (text: string) =>
    postJson(`${server.url}/json-rpc`, {
      jsonrpc: "2.0",
      id: 1,
      method: "SendMessage",
      params: {
        message: { messageId: `m${++count}`, role: "ROLE_USER", parts: [{ text }] },
        configuration: { returnImmediately: true },
      },
    });
  await send("small");
  await send("compute");
  let refused = await send("small");
  while (refused.status === 200) refused = await send("small");
  expect(JSON.parse(refused.text).error.data[0].metadata).toEqual({ limit: "eventLoopMaxMs" });
  // Five rounds would be ten slices at least, since only every other one is timed.
  expect(slices).toBeLessThan(8);
});
