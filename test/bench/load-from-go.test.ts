import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { programs, type Server, startServer } from "../../bench/child.ts";
import { hasGo, startGoServer } from "../../bench/go.ts";
import { createGoLoader } from "../../bench/load/go.ts";
import { portOf } from "../../bench/servers/port.ts";
import { owned } from "../support/owned.js";

const minutes = 5 * 60_000;
const root = fileURLToPath(new URL("../..", import.meta.url));

const loads = [
  { wire: "json-rpc", text: "message", count: 40 },
  { wire: "json-rpc", text: "task", count: 40 },
  { wire: "http-json", text: "message", count: 40 },
  { wire: "http-json", text: "task", count: 40 },
  { wire: "grpc", text: "message", count: 40 },
  { wire: "grpc", text: "task", count: 40 },
  { wire: "sse", text: "stream 30", count: 17 },
  { wire: "grpc-stream", text: "stream 30", count: 17 },
] as const;

const servers: readonly (readonly [string, () => Promise<Server>])[] = [
  ["bare Node", () => startServer(programs.floor)],
  ["this framework", () => startServer(programs.ours)],
  ["the Go SDK", startGoServer],
];

describe.skipIf(!hasGo())("load from Go", () => {
  it.each(servers)("is answered rightly by %s over every wire", { timeout: minutes }, async (_, start) => {
    await using server = await start();
    for (const { count, ...load } of loads) {
      const before = await server.ask("cpu");
      using loader = createGoLoader({ ...load, port: load.wire.startsWith("grpc") ? server.grpc : server.http });
      await loader.run(count);
      await loader.run(1);
      expect(await server.ask("cpu")).toBeGreaterThan(before);
    }
    expect(await server.ask("rss")).toBeGreaterThan(1_000_000);
    expect(await server.ask("residentBytes")).toBeGreaterThan(1_000_000);
  });

  it.each([
    ["message", { message: { role: "ROLE_AGENT", parts: [{ text: "ping" }] } }],
    ["message", { task: { id: "1", status: { state: "TASK_STATE_COMPLETED" } } }],
    ["task", { task: { id: "1", status: { state: "TASK_STATE_WORKING" } } }],
  ])("fails when a %s is answered wrongly", { timeout: minutes }, async (script, answer) => {
    await using server = await answering(JSON.stringify(answer));
    using loader = createGoLoader({ wire: "http-json", port: server.port, text: script });
    await expect(loader.run(1)).rejects.toThrow(/^load from Go: "not the /);
  });

  it("fails when a stream ends early", { timeout: minutes }, async () => {
    await using server = await answering("");
    using loader = createGoLoader({ wire: "sse", port: server.port, text: "stream 30" });
    await expect(loader.run(1)).rejects.toThrow("the stream ended after 0 of 30 chunks");
  });
});

/** A server that answers everything with this body. */
async function answering(body: string): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((_, response) => response.end(body)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async () => {
    server.close();
    server.closeAllConnections();
  };
  return { port: portOf(server), [Symbol.asyncDispose]: close };
}

// The interop suite may have fetched a Go that is not on the path.
const fetchedGo = `${root}test/interop/.venv/bin/go`;

it.skipIf(existsSync(fetchedGo))("rows that need Go are left out without it", { timeout: minutes }, async () => {
  const args = ["bench/run.ts", "--sides", "ours", "--filter", "^gRPC message reply, load from Go$"];
  const child = owned(spawn(process.execPath, args, { cwd: root, env: { ...process.env, PATH: "" } }));
  const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
  rmSync(/written: (.+)/.exec(stdout)?.[1] ?? "", { force: true });
  expect(stdout).toContain("gRPC message reply, load from Go: left out, since this machine has no Go");
  expect(code).toBe(0);
});
