import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const run = promisify(execFile);

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

let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "trivium-package-"));
  await run("npm", ["pack", "--pack-destination", folder]);
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe("the packed package", () => {
  it.each(["22.13.1", "24"])("installs in an empty project and answers on Node %s", async (version) => {
    const project = await mkdtemp(join(folder, "project-"));
    const tarball = (await readdir(folder)).find((name) => name.endsWith(".tgz")) ?? "";
    await writeFile(join(project, "package.json"), JSON.stringify({ type: "module", allowScripts: { node: true } }));
    await run("npm", ["install", "--no-audit", "--no-fund", `node@${version}`, join(folder, tarball)], {
      cwd: project,
    });
    for (const source of [program, browserClient]) {
      await writeFile(join(project, "main.js"), source);
      const { printed, log, code } = await runMain(project);
      expect(printed).toMatch(new RegExp(`^v${version.replaceAll(".", "\\.")}[\\d.]* pong\\n$`));
      expect(code).toBe(0);
      const records = log
        .trimEnd()
        .split("\n")
        .map((line): { readonly msg: string } => JSON.parse(line));
      expect(records.map(({ msg }) => msg)).toEqual(["listening", expect.stringContaining("kept in memory")]);
    }
    expect(await demoReport(project)).toContain("2 rows, 2 columns");
  });
});

/** Starts `trivium demo` by its name in `node_modules/.bin`, sends it a table and returns the answer. */
async function demoReport(project: string): Promise<string> {
  const bin = join(project, "node_modules/.bin");
  const env = { ...process.env, PATH: `${bin}:${process.env["PATH"]}`, TRIVIUM_LOG: "error" };
  const child = spawn("trivium", ["demo", "--port", "0"], { cwd: project, env, stdio: ["ignore", "pipe", "inherit"] });
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
  const child = spawn(join(project, "node_modules/.bin/node"), ["main.js"], { cwd: project });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk) => {
      said[name] += String(chunk);
    });
  }
  const [code] = await once(child, "exit");
  return { printed: said.stdout, log: said.stderr, code };
}
