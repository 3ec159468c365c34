import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import {
  A2AError,
  type Agent,
  artifact,
  Client,
  failed,
  inputRequired,
  reply,
  type Server,
  serve,
  working,
} from "trivium";
import { apiKey, mutualTls } from "trivium/auth";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAuthority } from "../support/certificates.js";
import { shell, startTrivium, trivium } from "../support/command.js";
import { createFaultProxy } from "../support/fault-proxy.js";

/** Answers as its message says: with a reply, in pieces, with a question, not at all, or by failing. */
const agent: Agent = async function* ({ text, task, principal, signal }) {
  if (task !== undefined) return yield artifact(`a berth for ${text}`);
  if (text === "who") return yield reply(principal.owner);
  if (text === "ask") return yield inputRequired("Which ship?");
  if (text === "fail") return yield failed("no berth is free");
  if (text.startsWith("offer")) {
    yield artifact("Berth N4, 120 €");
    return yield text === "offer" ? inputRequired("Shall I book it?") : failed("N4 is taken");
  }
  yield working("looking");
  yield artifact("one ", { artifactId: "a" });
  yield artifact("two", { artifactId: "a", append: true });
  if (text === "hang") await once(signal, "abort");
};

let server: Server;
beforeAll(async () => {
  const card = { name: "Berths", description: "Finds a berth", version: "1" };
  const authenticate = ({ bearer }: { bearer: string | undefined }) => ({ owner: bearer ?? "anybody" });
  server = await serve({ card, agent, authenticate, port: 0, drainMs: 0 });
});
afterAll(() => server.close());

const send = (text: string, ...flags: string[]) => trivium(["send", server.url, text, ...flags]);

it("trivium send prints the text of an answer", async () => {
  expect(await send("pieces")).toEqual({ code: 0, stdout: "one two\n", stderr: "" });
  expect(await send("who", "--bearer", "ada")).toEqual({ code: 0, stdout: "ada\n", stderr: "" });
  const { stdout, stderr } = await send("who", "--verbose");
  expect([stdout, stderr]).toEqual(["anybody\n", `using JSONRPC 1.0 at ${server.url}/json-rpc\n`]);
});

it("trivium send reads its message from standard input", async () => {
  expect(await trivium(["send", server.url, "-"], { stdin: "who" })).toMatchObject({ code: 0, stdout: "anybody\n" });
});

it("trivium send answers a question, as it says", async () => {
  const question = await send("ask");
  expect(question).toMatchObject({ code: 0, stdout: "Which ship?\n" });
  const [, taskId = ""] = /^input-required: answer with --task (\S+)\n$/.exec(question.stderr) ?? [];
  expect(await send("MV Alba", "--task", taskId)).toMatchObject({ code: 0, stdout: "a berth for MV Alba\n" });
});

it("trivium send prints a question and a failure behind the text of the artifacts", async () => {
  const question = await send("offer");
  expect(question).toMatchObject({ code: 0, stdout: "Berth N4, 120 €\n\nShall I book it?\n" });
  expect(question.stderr).toMatch(/^input-required: answer with --task \S+\n$/);
  expect(await send("offer, too late")).toEqual({
    code: 1,
    stdout: "Berth N4, 120 €\n",
    stderr: "the task ended as failed: N4 is taken\n",
  });
});

it("trivium send continues a conversation in a new task", async () => {
  await using client = await Client.connect(server.url, { headers: { authorization: "Bearer bob" } });
  const { contextId } = await client.send("pieces");
  await send("pieces", "--context", contextId, "--bearer", "bob");
  expect((await client.listTasks({ contextId })).tasks).toHaveLength(2);
});

it("trivium send names the options for what an agent requires, and the time until a limit ends", async () => {
  const verify = (key: string) => key === "s3" && "billing";
  await using strict = await serve({
    card: { name: "Strict", description: "d", version: "1" },
    agent: async () => reply("yes"),
    auth: { schemes: { key: apiKey({ in: "header", name: "x-api-key", verify }) } },
    rate: { owner: { requests: "1/hour" } },
    port: 0,
    logger: false,
  });
  const to = (...flags: string[]) => trivium(["send", strict.url, "hello", ...flags]);
  const without = await to();
  expect(without).toMatchObject({ code: 1, stderr: expect.stringContaining('"key" needs an API key') });
  expect(without.stderr).toContain("give --bearer <token>, --credential <scheme=secret>");
  expect((await to("--credential", "key=no")).stderr).toBe("unauthenticated: the API key is not known\n");
  for (let calls = 0; calls < 2; calls++) await to("--credential", "key=s3");
  const limited = await to("--credential", "key=s3");
  expect(limited.stderr).toMatch(/^resourceExhausted: .*1\/hour .*\n {2}try again in \d+ s\n$/);
});

it("trivium send calls with a client certificate", async () => {
  const authority = await createAuthority("mesh");
  const own = await authority.issue("agent", { type: "ip", value: "127.0.0.1" });
  const caller = await authority.issue("travel", { type: "url", value: "spiffe://example/travel" });
  const folder = mkdtempSync(join(tmpdir(), "send-"));
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  await using mesh = await serve({
    card: { name: "Mesh", description: "d", version: "1" },
    agent: async ({ principal }) => reply(principal.owner),
    auth: { schemes: { service: mutualTls({ ca: authority.ca }) } },
    tls: own,
    port: 0,
    logger: false,
  });
  const trust = ["--ca", file("ca.pem", authority.ca)];
  const identity = ["--cert", file("tls.crt", caller.cert), "--key", file("tls.key", caller.key)];
  const to = (...flags: string[]) => trivium(["send", mesh.url, "hello", ...flags]);
  expect(await to(...trust, ...identity)).toEqual({ code: 0, stdout: "service#spiffe://example/travel\n", stderr: "" });
  expect((await to(...trust)).stderr).toContain('"service" needs a client certificate');
  expect(await to(...identity.slice(0, 2))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--cert and --key belong together"),
  });
  expect((await to("--ca", join(folder, "none.pem"))).stderr).toContain("--ca cannot be read: ENOENT");
  expect((await to("--ca", file("empty.pem", "no"))).stderr).toContain("is not a PEM file");
});

it("trivium send names the agents that a server lists when there is none at its URL", async () => {
  const listed = { card: { name: "Listed", description: "d", version: "1" }, agent: async () => reply("yes") };
  const agents = { "/weather": listed, "/travel": listed };
  await using many = await serve({ agents, catalogue: true, port: 0, logger: false });
  for (const url of [many.url, `${many.url}/nowhere`]) {
    expect(await trivium(["send", url, "hello"])).toMatchObject({
      code: 1,
      stderr: `unavailable: no agent card at ${url}: its server lists agents at ${many.url}/weather, ${many.url}/travel\n`,
    });
  }
});

// Such texts set a terminal's title, fill its clipboard and hide lines.
const commands = "\u001b]52;c;cm0gLXJm\u0007\u001b[2J\u009b31m\r";

describe("an agent that writes control characters", () => {
  const card = { name: "Terminal", description: "d", version: "1" };
  const act: Agent = async ({ text }) => {
    if (text === "refuse") throw new A2AError("invalidParams", `no\n${commands}`);
    return reply(`\tyes\n${commands}`);
  };

  it("control characters of an agent reach no stderr, and stdout only where that is no terminal", async () => {
    await using hostile = await serve({ card, agent: act, port: 0, logger: false });
    expect((await trivium(["send", hostile.url, "hello"])).stdout).toBe(`\tyes\n${commands}\n`);
    const { stderr } = await trivium(["send", hostile.url, "refuse"]);
    expect(stderr).toContain("no\n\\u001b]52;c;cm0gLXJm\\u0007\\u001b[2J\\u009b31m\\u000d");
    expect(stderr.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });

  // `script` gives the command a terminal.
  it.runIf(process.platform === "linux")("control characters of an agent command no terminal", async () => {
    await using hostile = await serve({ card, agent: act, port: 0, logger: false });
    const run = (command: string) =>
      shell(`script -qec '"${process.execPath}" dist/src/cli/main.js ${command}' /dev/null`);
    const result = await run(`send ${hostile.url} hello`);
    expect(result.stdout).toBe("\tyes\r\n\\u001b]52;c;cm0gLXJm\\u0007\\u001b[2J\\u009b31m\\u000d\r\n");
    const message = JSON.stringify({ message: { parts: [{ text: "hello" }] } });
    const called = await run(`call ${hostile.url} SendMessage ${JSON.stringify(message)}`);
    expect(JSON.parse(called.stdout)).toMatchObject({ message: { parts: [{ text: `\tyes\n${commands}` }] } });
    expect(called.stdout.replaceAll("\r\n", "")).not.toMatch(/\p{Cc}/u);
  });
});

it("trivium send fails with the task", async () => {
  const ended = "the task ended as failed\n";
  expect(await send("fail")).toEqual({ code: 1, stdout: "no berth is free\n", stderr: ended });
  expect(await trivium(["send", "nowhere", "hello"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("nowhere is not an http(s) URL"),
  });
});

it("Ctrl-C cancels the task of trivium send", async () => {
  const child = startTrivium(["send", server.url, "hang", "--bearer", "eve"]);
  await once(child.stdout, "data");
  child.kill("SIGINT");
  expect(await once(child, "exit")).toEqual([130, null]);
  await using client = await Client.connect(server.url, { headers: { authorization: "Bearer eve" } });
  const [task] = (await client.listTasks({})).tasks;
  expect(await client.wait(task?.id ?? "")).toMatchObject({ state: "canceled" });
});

it.each([["send", "who"], ["card"]])(
  "trivium %s waits for an agent that restarts, and says so",
  async (command, ...args) => {
    const target = { port: Number(new URL(server.url).port) };
    await using proxy = await createFaultProxy({ target, schedule: [{ kind: "refuse" }] });
    const child = startTrivium([command, proxy.url(), ...args]);
    let stderr = "";
    const said = new Promise<void>((resolve) => {
      child.stderr.on("data", (chunk: Buffer) => {
        stderr += chunk.toString();
        if (stderr.includes("\n")) resolve();
      });
    });
    const stdout = text(child.stdout);
    const exited = once(child, "exit");
    await Promise.race([said, exited]);
    await proxy.setSchedule([{ kind: "pass" }]);
    expect((await exited)[0]).toBe(0);
    expect(stderr).toMatch(/^waiting for the agent: cannot reach .*ECONNREFUSED.*\n$/);
    expect(await stdout).toContain(command === "send" ? "anybody" : '"Berths"');
  },
);
