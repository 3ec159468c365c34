import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Client, gateway } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningAgent, startAgent } from "./sdk-agents.js";

// Agents on FastA2A answer a send before the task has ended. 0.6 speaks 0.3 and has no streams; 2.1 speaks 1.0, writes times
// without a zone, and streams no artifacts that its worker only stores.

// In CI a missing release is a failure instead of a skip.
const complete = process.env["CI"] !== undefined;
const path = (name: string): string => fileURLToPath(new URL(`python-old/${name}`, import.meta.url));
const timeoutMs = 30_000;

describe.each(["fasta-06", "fasta-21"])("an agent on FastA2A (%s)", (key) => {
  const installed = existsSync(path(`.venv-${key}/bin/uvicorn`));
  if (!installed && !complete) {
    it.skip("is not installed: bash test/interop/setup.sh");
    return;
  }

  let agent: RunningAgent;
  let client: Client;

  beforeAll(async () => {
    const command = path(`.venv-${key}/bin/python`);
    agent = await startAgent({ name: "Python", command, options: [path("fasta/newer.py")], installed });
    client = await Client.connect(agent.url, { timeoutMs });
  });

  afterAll(async () => {
    await client?.close();
    await agent?.[Symbol.asyncDispose]();
  });

  it("an agent on FastA2A is called in the version of its release", () => {
    const [, release = ""] = /^fasta2a==(.+)$/m.exec(readFileSync(path(`requirements-${key}.txt`), "utf8")) ?? [];
    const [entry] = client.card.supportedInterfaces;
    expect([release.slice(0, 3), entry?.protocolVersion]).toEqual(key === "fasta-06" ? ["0.6", "0.3"] : ["2.1", "1.0"]);
  });

  it("an agent on FastA2A gives its result to a send, with the time of its status", async () => {
    const answer = await client.send("hello");
    expect([answer.state, answer.text]).toEqual(["completed", "hello"]);
    expect(Number(answer.task?.status?.timestamp?.seconds)).toBeGreaterThan(1.7e9);
  });

  it("an agent on FastA2A gives its result to a stream, as text and as answer", async () => {
    const stream = client.stream("hello");
    let text = "";
    for await (const delta of stream.text) text += delta;
    const answer = await stream.answer;
    expect([text, answer.state, answer.text]).toEqual(["hello", "completed", "hello"]);
  });

  it("an agent on FastA2A fails, asks and takes the answer", async () => {
    expect((await client.send("fail")).state).toBe("failed");
    const question = await client.send("ask");
    expect(question.state).toBe("input-required");
    const answer = await client.send("red", { continue: question });
    // Each message makes a task of its own, in the context that it names.
    expect([answer.contextId, answer.state, answer.text]).toEqual([question.contextId, "completed", "red"]);
  });

  it("an agent on FastA2A answers at once when it is asked to, and is waited for", async () => {
    const { taskId, state } = await client.send("hello", { configuration: { returnImmediately: true } });
    expect(["submitted", "working", "completed"]).toContain(state);
    expect((await client.wait(taskId)).text).toBe("hello");
  });

  it("an agent on FastA2A gives its result through a gateway", async () => {
    await using front = await gateway({ upstream: agent.url, port: 0, anonymous: "shared", logger: false });
    await using caller = await Client.connect(front.url, { timeoutMs });
    expect((await caller.send("hello")).text).toBe("hello");
  });
});
