import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { artifact, serve } from "trivium";
import { expect, it } from "vitest";
import { settledHeap } from "../support/heap.js";
import { owned } from "../support/owned.js";
import { httpLine, json } from "../support/raw-http.js";
import { tries } from "../support/tries.js";

// Whatever callers send and do not take, a server holds no more of it than its limit of bytes, which counts all of it.

const mebibyte = 1 << 20;
const inFlightMaxBytes = 16 * mebibyte;
/** What connections and streams take without any bytes, and code that is compiled on first use. */
const fixedBytes = 24 * mebibyte;

const seeds = Array.from({ length: tries(1, 5) }, (_, index) => index + 1);

it.each(seeds)("the heap of a server stays below its limit of bytes, whatever the traffic (seed %i)", async (seed) => {
  await using server = await serve({
    card: { name: "Heap", description: "Has a small and a large task", version: "1.0.0" },
    port: 0,
    drainMs: 0,
    limits: { inFlightMaxBytes, replyStallMs: 600_000, bodyTimeoutMs: 600_000 },
    async *agent({ text, signal }) {
      const pieces = text === "large" ? 4 : 1;
      for (let piece = 0; piece < pieces; piece++) {
        yield artifact("x".repeat(text === "large" ? mebibyte : 50_000), { artifactId: `${piece}` });
      }
      if (text === "large") await once(signal, "abort");
    },
  });
  const ask = async (method: string, params: object) => {
    using line = httpLine(server.port);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const headers = { ...json, "A2A-Version": "1.0" };
    return JSON.parse((await line.ask({ target: "/json-rpc", headers, body })).text).result;
  };
  const taskOf = async (text: string): Promise<string> => {
    const message = { messageId: text, role: "ROLE_USER", parts: [{ text }] };
    const { task } = await ask("SendMessage", { message, configuration: { returnImmediately: true } });
    const last = text === "large" ? 4 : 1;
    await expect.poll(async () => (await ask("GetTask", { id: task.id })).artifacts?.length).toBe(last);
    return task.id;
  };
  const [small, large] = [await taskOf("small"), await taskOf("large")];
  const before = settledHeap();
  const script = fileURLToPath(new URL("greedy-child.mjs", import.meta.url));
  const child = owned(fork(script, [String(server.port), small, large, String(seed)]));
  await once(child, "message");
  await expect.poll(() => settledHeap() - before).toBeLessThan(inFlightMaxBytes + fixedBytes);
  expect((await ask("GetTask", { id: small })).id).toBe(small);
  child.kill("SIGKILL");
  await expect.poll(() => settledHeap() - before).toBeLessThan(fixedBytes);
});
