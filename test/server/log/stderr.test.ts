import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { root } from "../../support/command.js";
import { owned } from "../../support/owned.js";

const imports = `
  import { completed, createAgent, serve } from "./dist/src/index.js";
  import { sqliteStore } from "./dist/src/store/sqlite/index.js";
  import { connectTo } from "./dist/src/testing/index.js";
  const card = { name: "Logged", description: "d", version: "1" };
  const message = { messageId: crypto.randomUUID(), role: 1, parts: [{ content: { case: "text", value: "hi" } }] };
  const broken = async () => { throw new TypeError("no tide today", { cause: new Error("the gauge is dry") }); };
`;

/** Starts a program that uses the built package. Its environment says nothing about logs but what \`env\` says. */
function startProgram(program: string, env: Readonly<Record<string, string>> = {}) {
  const { TRIVIUM_LOG: _level, FORCE_COLOR: _force, NO_COLOR: _no, ...others } = process.env;
  return owned(
    spawn(process.execPath, ["--input-type=module", "--eval", imports + program], {
      cwd: root,
      env: { ...others, ...env },
    }),
  );
}

async function run(program: string, env?: Readonly<Record<string, string>>) {
  const child = startProgram(program, env);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const records = (): Record<string, unknown>[] =>
    stderr
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  return { stdout, stderr, records };
}

describe("without a logger", () => {
  it("a server without a logger logs to stderr where it listens, and nothing to stdout", async () => {
    const { stdout, records } = await run("await using server = await serve({ card, port: 0, agent: broken });");
    expect(stdout).toBe("");
    expect(records()).toEqual([
      {
        level: 30,
        time: expect.any(Number),
        url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
        bindings: ["JSONRPC", "GRPC", "HTTP+JSON"],
        versions: ["1.0", "0.3", "0.2", "0.1"],
        msg: "listening",
      },
      expect.objectContaining({ msg: "tasks are kept in memory and are lost with the process" }),
    ]);
  });

  it("an agent under test that throws shows its stack and cause, with the reference that the caller got", async () => {
    const { stdout, records } = await run(`
      await using client = await connectTo(broken);
      const { payload } = await client.sendMessage({ message });
      process.stdout.write(payload.value.status.message.parts[0].content.value);
    `);
    const [record, ...others] = records();
    expect(others).toEqual([]);
    expect(record).toMatchObject({
      level: 50,
      taskId: expect.any(String),
      err: {
        type: "TypeError",
        message: "no tide today",
        stack: expect.stringMatching(/^TypeError: no tide today\n {4}at .*eval/),
        cause: { type: "Error", message: "the gauge is dry", stack: expect.any(String) },
      },
      msg: "the agent failed",
    });
    expect(stdout).toBe(`the agent failed (reference ${record?.["reference"]})`);
  });

  it("a mounted agent without a logger logs, and its store does by the same logger", async () => {
    const { records } = await run(
      `
      const store = sqliteStore({ path: ":memory:", pruneEveryMs: 1, retention: { tasksMs: 0, logsMs: 0 } });
      await using agent = await createAgent({ card, store, agent: async () => completed() });
      await using client = await connectTo(agent);
      await client.sendMessage({ message });
      for (let state = true; state; ) state = (await client.listTasks({})).tasks.length > 0;
      await store.close();
    `,
      { TRIVIUM_LOG: "debug" },
    );
    expect(records().map(({ msg }) => msg)).toContain(
      "finished tasks and old conversations were dropped from the store",
    );
  });

  it("the log level comes from the environment", async () => {
    const program = "await using server = await serve({ card, port: 0, agent: broken });";
    expect((await run(program, { TRIVIUM_LOG: "warn" })).stderr).toBe("");
    expect((await run(program, { TRIVIUM_LOG: "SILENT" })).stderr).toBe("");
  });

  it("an unknown log level is reported once, with the levels that there are", async () => {
    const { records } = await run(
      `
        await using server = await serve({ card, port: 0, agent: broken });
        await using agent = await createAgent({ card, agent: broken });
      `,
      { TRIVIUM_LOG: "loud" },
    );
    const [first, ...others] = records();
    expect(first).toMatchObject({
      level: 40,
      value: "loud",
      allowed: ["debug", "info", "warn", "error", "silent"],
      msg: expect.stringContaining("TRIVIUM_LOG"),
    });
    expect(others.map(({ msg }) => msg)).toEqual(["listening", expect.stringContaining("kept in memory")]);
  });

  it("a person reads log lines with colors", async () => {
    const { stderr } = await run(
      "await using client = await connectTo(broken); await client.sendMessage({ message });",
      { FORCE_COLOR: "1" },
    );
    expect(stderr.replaceAll("\u001b", "ESC")).toMatch(
      /^ESC\[2m\d\d:\d\d:\d\d\.\d{3}ESC\[0m ESC\[31mERRORESC\[0m the agent failed /,
    );
    expect(stderr).toMatch(/^ {2}TypeError: no tide today$/m);
    expect(stderr).toMatch(/^ {4}\[cause\]: Error: the gauge is dry$/m);
  });

  it("a server lives on when the reader of its log has gone", async () => {
    const child = startProgram(`
      const server = await serve({ card, port: 0, agent: broken });
      const client = await connectTo(server);
      process.stdin.once("data", async () => {
        for (let count = 0; count < 10; count++) await client.sendMessage({ message });
        setImmediate(() => process.stdout.write("alive", () => process.exit(0)));
      });
    `);
    await once(child.stderr, "data");
    child.stderr.destroy();
    await once(child.stderr, "close");
    child.stdin.write("go");
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
    expect({ output, code }).toEqual({ output: "alive", code: 0 });
  });
});

it("a server without a logger also runs where there is no stderr", async () => {
  const { stdout, stderr } = await run(`
    const { write } = process.stdout;
    const say = write.bind(process.stdout);
    globalThis.process = undefined;
    const agent = await createAgent({ card, agent: broken });
    const answer = await agent.fetch()(new Request("http://localhost/json-rpc", { method: "POST", body: "{" }));
    say(String(answer.status));
    await agent.close();
  `);
  expect({ stdout, stderr }).toEqual({ stdout: "415", stderr: "" });
});

it("with `logger: false` nothing is logged", async () => {
  const { stderr, stdout } = await run(`
    await using server = await serve({ card, port: 0, agent: broken, logger: false });
    await using client = await connectTo(broken, { logger: false });
    await client.sendMessage({ message });
  `);
  expect({ stderr, stdout }).toEqual({ stderr: "", stdout: "" });
});
