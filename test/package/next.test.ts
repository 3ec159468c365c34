import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { exitOf, owned } from "../support/owned.js";
import { createProject } from "./project.js";

// A real Next app, built and started.

const route = "/agents/shouter";
const headers = { "Content-Type": "application/json", "A2A-Version": "1.0" };
const files = {
  "next.config.mjs": 'export default { serverExternalPackages: ["trivium"] };',
  "app/layout.js": "export default ({ children }) => <html><body>{children}</body></html>;",
  "app/page.js": "export default () => <p>the shop</p>;",
  "app/agents/shouter/[[...path]]/route.ts": readFileSync("examples/next-mount/route.ts", "utf8"),
  "app/agents/slow/[[...path]]/route.ts": `
    import { artifact, createAgent, working } from "trivium";
    import { nextRoute } from "trivium/next";
    export const { GET, POST } = nextRoute(() =>
      createAgent({
        card: { name: "Slow", description: "Waits", version: "1.0.0" },
        limits: { streamsPerProcess: 1 },
        async *agent({ signal }) {
          yield working("begun");
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          yield artifact("never");
        },
      }),
    );`,
};

let next: ChildProcess;
let origin = "";
beforeAll(async () => {
  const project = await createProject("next@16", "react@19", "react-dom@19", "typescript@5.9", "@types/react@19");
  for (const [file, text] of Object.entries(files)) await project.write(file, text);
  const built = await project.run(process.execPath, "node_modules/next/dist/bin/next", "build");
  expect(built.code, built.output).toBe(0);
  const start = ["node_modules/next/dist/bin/next", "start", "-p", "0", "-H", "127.0.0.1"];
  next = owned(spawn(process.execPath, start, { cwd: project.folder, stdio: ["ignore", "pipe", "inherit"] }));
  let printed = "";
  for await (const chunk of next.stdout ?? []) {
    printed += String(chunk);
    origin = /http:\/\/\S+:\d+/.exec(printed)?.[0] ?? "";
    if (origin !== "" && printed.includes("Ready")) break;
  }
});
afterAll(async () => {
  next?.kill();
  if (next !== undefined) await exitOf(next);
});

const bodyOf = (text: string): string =>
  JSON.stringify({ message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] } });

it("an agent in a Next app has a card with the URLs of its route", async () => {
  const response = await fetch(`${origin}${route}/.well-known/agent-card.json`, { headers });
  const { supportedInterfaces } = (await response.json()) as { supportedInterfaces: { url: string }[] };
  const urls = new Set(supportedInterfaces.map(({ url }) => url));
  expect(urls).toEqual(new Set([`${origin}${route}/json-rpc`, `${origin}${route}/http-json`]));
});

it("an agent in a Next app answers over JSON-RPC and HTTP+JSON, and leaves the app its pages", async () => {
  const answer = await fetch(`${origin}${route}/http-json/message:send`, {
    method: "POST",
    headers,
    body: bodyOf("hi"),
  });
  expect(await answer.json()).toMatchObject({ task: { artifacts: [{ parts: [{ text: "HI" }] }] } });
  const rpc = { jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} };
  const listed = await fetch(`${origin}${route}/json-rpc`, { method: "POST", headers, body: JSON.stringify(rpc) });
  expect(await listed.json()).toMatchObject({ result: { tasks: [{}] } });
  expect(await (await fetch(`${origin}/`)).text()).toContain("the shop");
});

it("an agent in a Next app streams events as they come, and ends the stream of a reader who leaves", async () => {
  const url = `${origin}/agents/slow/http-json`;
  const leaving = new AbortController();
  const send = { method: "POST", headers, body: bodyOf("hi"), signal: leaving.signal };
  const reader = (await fetch(`${url}/message:stream`, send)).body?.getReader();
  let streamText = "";
  while (!streamText.includes("begun")) streamText += new TextDecoder().decode((await reader?.read())?.value);
  leaving.abort();
  const id = /"task":\{"id":"([^"]+)"/.exec(streamText)?.[1];
  // There is room for one stream only: it is free once the server has noticed.
  const again = async (): Promise<number> => {
    const resumed = await fetch(`${url}/tasks/${id}:subscribe`, { headers });
    await resumed.body?.cancel();
    return resumed.status;
  };
  await expect.poll(again, { timeout: 30_000 }).toBe(200);
});
