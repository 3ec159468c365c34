import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { owned } from "../support/owned.js";
import { createProject, type Project } from "./project.js";

const program = `
import { A2AError, reply, serve } from "trivium";
const server = await serve({
  card: { name: "Pong", description: "Answers", version: "1.0.0" },
  port: 0,
  async *agent({ text }) {
    if (text !== "ping") throw new A2AError("unsupportedOperation", "only ping");
    yield reply("pong");
  },
});
const response = await fetch(server.url + "/json-rpc", {
  method: "POST",
  headers: { "Content-Type": "application/json", "A2A-Version": "1.0" },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: {
    message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "ping" }] } } }),
});
console.log(process.version, (await response.json()).result.message.parts[0].text);
await server.close();
`;

// The browser client runs wherever there is `fetch`.
const browserClient = `
import { Client } from "trivium/client";
import { reply, serve } from "trivium";
const server = await serve({
  card: { name: "Pong", description: "Answers", version: "1.0.0" },
  port: 0,
  async *agent({ text }) { yield reply(text + " pong"); },
});
const client = await Client.connect(server.url);
const { text } = await client.stream("ping").answer;
console.log(process.version, text.replace("ping ", ""));
await client.close();
await server.close();
`;

describe("the packed package", () => {
  it.each(["22.13.1", "24"])(
    "the packed package installs in an empty project and answers on Node %s",
    async (version) => {
      const { folder, write } = await createProject(`node@${version}`);
      for (const source of [program, browserClient]) {
        await write("main.js", source);
        const { printed, log, code } = await runMain(folder);
        expect(printed).toMatch(new RegExp(`^v${version.replaceAll(".", "\\.")}[\\d.]* pong\\n$`));
        expect(code).toBe(0);
        const records = log
          .trimEnd()
          .split("\n")
          .map((line): { readonly msg: string } => JSON.parse(line));
        expect(records.map(({ msg }) => msg)).toEqual(["listening", expect.stringContaining("kept in memory")]);
      }
      expect(await demoReport(folder)).toContain("2 rows, 2 columns");
    },
  );
});

describe("a program that uses the packed package", () => {
  let project: Project;
  beforeAll(async () => {
    project = await createProject("express@5", "hono@4");
  });

  it("a program that uses the package says what to install where an optional package is missing", async () => {
    const { run, write } = project;
    await write(
      "main.js",
      `import { serve } from "trivium";
       import { postgresStore } from "trivium/postgres";
       const store = postgresStore({ url: "postgres://user:secret@127.0.0.1:1/tasks" });
       const card = { name: "Kept", description: "Keeps its tasks", version: "1.0.0" };
       await serve({ card, store, port: 0, agent: async () => undefined }).catch((error) => console.log(error.message));`,
    );
    const needed = 'trivium/postgres needs the package "pg": npm install pg';
    expect(await run(process.execPath, "main.js")).toEqual({ code: 0, output: `${needed}\n` });
    const demo = await run("node_modules/.bin/trivium", "demo", "--store", "postgres://user:secret@127.0.0.1:1/tasks");
    const shown = "error: the store postgres://user@127.0.0.1:1/tasks cannot be used";
    expect(demo).toEqual({ code: 1, output: `${shown}: ${needed}\n` });
  });

  it("a program that uses the package says what is wrong where it makes a mistake, and how to do it", async () => {
    const { run, write } = project;
    await write("main.js", mistakes);
    const { output } = await run(process.execPath, "main.js");
    expect(output.trim().split("\n")).toEqual([
      'TypeError: unknown error code "taskNotfound": did you mean "taskNotFound"?',
      'TypeError: file() takes a Uint8Array or an absolute URL, not "./chart.png": use fileFrom() for a path or a stream, and fileOf() for a Blob',
      "RangeError: fileFrom(): log is at least 2 bytes over the limit of 1: raise maxBytes (and eventMaxBytes or contentMaxBytes of the agent), or send a URL with file()",
      "TypeError: schema must be a Standard Schema, such as those of zod, valibot and arktype",
      "A2AError: invalid parameters: id is required",
    ]);
  });

  it("a program that uses the package is mounted in Express and Hono, and says which option is missing", async () => {
    const { run, write } = project;
    await write("main.js", mounted);
    const { output } = await run(process.execPath, "main.js");
    expect(output.trim().split("\n")).toEqual([
      "/agents/pong/json-rpc",
      "/agents/pong/json-rpc",
      'a request for the agent came below "/agents/pong", but it is mounted without a path: mount it with `fetch({ basePath: "/agents/pong" })`',
    ]);
  });
});

const mistakes = `
import { A2AError, data, dataOf, file, fileFrom, fromJson } from "trivium";
const acts = [
  () => new A2AError("taskNotfound", "no such task"),
  () => file("./chart.png"),
  () => fileFrom((async function* () { yield "abc"; })(), { filename: "log", maxBytes: 1 }),
  () => dataOf(data({}), { parse: () => 1 }),
  () => fromJson("Task", { status: { state: "TASK_STATE_COMPLETED" } }),
];
for (const act of acts) await Promise.resolve().then(act).catch((error) => console.log(error.name + ": " + error.message));
`;

// Prints the first address of each card, without the origin, and what is said where the path is unknown.
const mounted = `
import express from "express";
import { Hono } from "hono";
import { createAgent } from "trivium";
import { expressAgent } from "trivium/express";
import { honoAgent } from "trivium/hono";
const agent = await createAgent({
  card: { name: "Pong", description: "Answers", version: "1.0.0" },
  logger: false,
  agent: async () => undefined,
});
const path = "/agents/pong";
const card = path + "/.well-known/agent-card.json";
const print = async (response) => console.log(new URL((await response.json()).supportedInterfaces[0].url).pathname);
const server = express().use(path, expressAgent(agent)).listen(0, async () => {
  await print(await fetch("http://127.0.0.1:" + server.address().port + card));
  await print(await new Hono().all(path + "/*", honoAgent(agent)).request(card));
  console.log((await (await agent.fetch()(new Request("http://app.example" + card))).text()).trim());
  server.close();
  await agent.close();
});
`;

/** Starts `trivium demo` by its name in `node_modules/.bin`, sends it a table and returns the answer. */
async function demoReport(project: string): Promise<string> {
  const bin = join(project, "node_modules/.bin");
  const env = { ...process.env, PATH: `${bin}:${process.env["PATH"]}`, TRIVIUM_LOG: "error" };
  const child = owned(
    spawn("trivium", ["demo", "--port", "0"], { cwd: project, env, stdio: ["ignore", "pipe", "inherit"] }),
  );
  const ended = once(child, "exit");
  let greeting = "";
  for await (const chunk of child.stdout) {
    greeting += chunk;
    if (greeting.includes("Try it")) break;
  }
  const url = /^ +HTTP\+JSON +(\S+)$/m.exec(greeting)?.[1];
  const part = { text: "city,people\nOslo,709000\nBergen,", mediaType: "text/csv" };
  const response = await fetch(`${url}/message:send`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "A2A-Version": "1.0" },
    body: JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts: [part] } }),
  });
  const answer = await response.text();
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  return answer;
}

/** Runs `main.js` until it exits by itself: a closed server or client must not keep the process alive. */
async function runMain(project: string) {
  const child = owned(spawn(join(project, "node_modules/.bin/node"), ["main.js"], { cwd: project }));
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk) => {
      output[name] += String(chunk);
    });
  }
  const [code] = await once(child, "exit");
  return { printed: output.stdout, log: output.stderr, code };
}
