import { once } from "node:events";
import { type Agent, artifact, Client, failed, inputRequired, reply, type Server, serve, working } from "trivium";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTrivium, trivium } from "../support/command.js";

/** Answers as its message says: with a reply, in pieces, with a question, not at all, or by failing. */
const agent: Agent = async function* ({ text, task, principal, signal }) {
  if (task !== undefined) return yield artifact(`a berth for ${text}`);
  if (text === "who") return yield reply(principal.owner);
  if (text === "ask") return yield inputRequired("Which ship?");
  if (text === "fail") return yield failed("no berth is free");
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
  const asked = await send("ask");
  expect(asked).toMatchObject({ code: 0, stdout: "Which ship?\n" });
  const [, taskId = ""] = /^input-required: answer with --task (\S+)\n$/.exec(asked.stderr) ?? [];
  expect(await send("MV Alba", "--task", taskId)).toMatchObject({ code: 0, stdout: "a berth for MV Alba\n" });
});

it("trivium send continues a conversation in a new task", async () => {
  await using client = await Client.connect(server.url, { headers: { authorization: "Bearer bob" } });
  const { contextId } = await client.send("pieces");
  await send("pieces", "--context", contextId, "--bearer", "bob");
  expect((await client.listTasks({ contextId })).tasks).toHaveLength(2);
});

it("trivium send fails with the task", async () => {
  const ended = "the task ended as failed\n";
  expect(await send("fail")).toEqual({ code: 1, stdout: "no berth is free\n", stderr: ended });
  expect(await trivium(["send", "nowhere", "hello"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("nowhere is no http(s) URL"),
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
