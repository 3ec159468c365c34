import { once } from "node:events";
import { type Agent, artifact, reply, type Server, serve } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callBindings } from "../../src/cli/target.js";
import { shell, trivium } from "../support/command.js";

const known = "urn:example:known";

/** Answers as its message says: with what it knows of the call, never, without end, or in three events. */
const agent: Agent = async function* ({ text, extensions, principal, signal }) {
  if (text === "who") return yield reply(`${principal["test"]} ${extensions.join(" ")}`);
  if (text === "never") await once(signal, "abort");
  for (let index = 0; text === "forever" || index < 3; index++) {
    yield artifact(`${index} ${"x".repeat(1000)}`, { artifactId: "a", append: index > 0 });
  }
};

let server: Server;
let places: Readonly<Record<string, string>>;

beforeAll(async () => {
  server = await serve({
    card: { name: "Test", description: "Test", version: "1", extensions: [{ uri: known }] },
    agent,
    authenticate: ({ header }) => ({ owner: "somebody", test: header("X-Test") }),
    port: 0,
    drainMs: 0,
  });
  places = { "json-rpc": server.url, "http-json": `${server.url}/http-json`, grpc: `127.0.0.1:${server.grpcPort}` };
});

afterAll(() => server.close());

const sendOf = (text: string): string =>
  JSON.stringify({ message: { messageId: "1", role: "ROLE_USER", parts: [{ text }] } });

describe.each(callBindings)("trivium call over %s", (binding) => {
  const call = (operation: string, json: string, ...flags: string[]) =>
    trivium(["call", places[binding] ?? "", operation, json, ...flags]);

  it("prints a reply as JSON, having sent headers and extensions", async () => {
    const flags = [
      "--header",
      "X-Test: one:two",
      "--header",
      "X-Other:",
      "--extension",
      known,
      "--extension",
      "urn:no",
    ];
    const { code, stdout, stderr } = await call("sendMessage", sendOf("who"), ...flags);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      message: { role: "ROLE_AGENT", parts: [{ text: `one:two ${known}` }] },
    });
  });

  it("prints a stream as one JSON object a line", async () => {
    const { code, stdout } = await call("SendStreamingMessage", sendOf("hello"));
    const kinds = stdout
      .trimEnd()
      .split("\n")
      .map((line) => Object.keys(JSON.parse(line) as object));
    expect(code).toBe(0);
    expect(kinds.flat()).toEqual(["task", ...Array(3).fill("artifactUpdate"), "statusUpdate"]);
  });

  it.each(["GetTask", "SubscribeToTask"])("prints the error of %s on stderr and exits with 1", async (operation) => {
    const answer = { code: 1, stdout: "", stderr: "taskNotFound: no such task\n" };
    expect(await call(operation, '{"id":"none"}')).toEqual(answer);
  });

  it("gives up at its timeout", async () => {
    const { code, stdout, stderr } = await call("SendMessage", sendOf("never"), "--timeout", "300");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^deadlineExceeded: /);
  });
});

describe("trivium call", () => {
  it("reads the request from standard input, and an empty one when there is none", async () => {
    const sent = await trivium(["call", server.url, "send-message", "-"], { stdin: sendOf("who") });
    expect(JSON.parse(sent.stdout)).toHaveProperty("message");
    const listed = await trivium(["call", server.url, "listTasks"]);
    expect(JSON.parse(listed.stdout)).toHaveProperty("tasks");
  });

  it("names every field at fault before it sends anything", async () => {
    const { code, stderr } = await trivium(["call", "http://127.0.0.1:1", "SendMessage", '{"message":{"role":1.5}}']);
    expect(code).toBe(1);
    const [first, ...others] = stderr.trimEnd().split("\n");
    expect(first).toMatch(/^invalidParams: /);
    for (const field of ["message.messageId", "message.parts", "message.role"]) {
      expect(
        [first?.replace("invalidParams: invalid parameters:", " "), ...others].some((line) =>
          line?.startsWith(`  ${field} `),
        ),
      ).toBe(true);
    }
  });

  it.each(["json-rpc", "http-json"])("goes on behind an event over %s", async (binding) => {
    const { stdout } = await trivium(["call", places[binding] ?? "", "SendStreamingMessage", sendOf("hello"), "--ids"]);
    const lines = stdout.trimEnd().split("\n");
    const [first, second] = lines.map((line) => JSON.parse(line) as { id: string; event: { task: { id: string } } });
    const request = JSON.stringify({ id: first?.event.task.id });
    const flags = ["--last-event-id", second?.id ?? "", "--ids"];
    const rest = await trivium(["call", places[binding] ?? "", "SubscribeToTask", request, ...flags]);
    expect(rest.stdout.trimEnd().split("\n")).toEqual(lines.slice(2));
  });

  it("ends well when its reader has seen enough", async () => {
    const command = `"${process.execPath}" dist/src/cli/main.js call ${server.url} SendStreamingMessage '${sendOf("forever")}'`;
    const { stdout, stderr } = await shell(`(${command}; echo "exit $?" >&2) | head -n 1`);
    expect(stderr).toBe("exit 0\n");
    expect(JSON.parse(stdout)).toHaveProperty("task");
  });

  it.each([
    ["http://127.0.0.1:1", /^unavailable: cannot reach http:\/\/127\.0\.0\.1:1\/json-rpc\n {2}because: /],
    ["127.0.0.1:1", /^unavailable: .*ECONNREFUSED/],
  ])("says why it cannot reach %s", async (address, told) => {
    const { code, stderr } = await trivium(["call", address, "GetTask", '{"id":"x"}']);
    expect(code).toBe(1);
    expect(stderr).toMatch(told);
  });
});
