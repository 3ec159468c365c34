import type { JsonObject } from "@bufbuild/protobuf";
import { gateway } from "trivium";
import { describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { recordingLogger } from "../support/recording-logger.js";
import { answered, cardServer } from "./support/card-server.js";
import { type BindingName, cardOf, interfaceAt } from "./support/cards.js";
import { rpcServer } from "./support/rpc-server.js";

// Members of answers that cannot be read are left out, and logged once.

const text = "a member of the agent's answers cannot be read and is left out";

/** A completed task, of 1.0 and of the versions before, with a time that is none and names that are numbers. */
function taskIn(version: string): JsonObject {
  const isOld = version !== "1.0";
  const artifacts = ["a", "b"].map((artifactId) => ({
    ...{ artifactId, name: 7 },
    parts: [isOld ? { kind: "text", text: "x" } : { text: "x" }],
  }));
  const state = isOld ? "completed" : "TASK_STATE_COMPLETED";
  const task = { id: "t", contextId: "c", status: { state, timestamp: "yesterday" }, artifacts };
  return isOld ? { kind: "task", ...task } : task;
}

/** An agent of a version that answers so, and a client of it whose log is kept. */
async function answering(version: string, binding: BindingName) {
  const task = taskIn(version);
  const payload = version === "1.0" ? { task } : task;
  const inForm = (json: JsonObject) => (binding === "JSONRPC" ? { jsonrpc: "2.0", id: 1, result: json } : json);
  const whole = answered(200, { "content-type": "application/json" }, JSON.stringify(inForm(payload)));
  const events = answered(200, { "content-type": "text/event-stream" }, `data: ${JSON.stringify(inForm(payload))}\n\n`);
  const rpc = await rpcServer((response, { method }) => {
    const streams = /stream/i.test(method);
    response.writeHead(200, { "content-type": streams ? "text/event-stream" : "application/json" });
    response.end(streams ? `data: ${JSON.stringify(inForm(payload))}\n\n` : JSON.stringify(inForm(payload)));
  });
  const rest = await cardServer({ "/http-json/message:send": whole, "/http-json/message:stream": events });
  const url = binding === "JSONRPC" ? rpc.url : rest.url;
  const card = cardOf([interfaceAt(binding, url, { protocolVersion: version })]);
  const { log, logger } = recordingLogger();
  return {
    ...{ card, log, url: interfaceAt(binding, url)["url"] },
    client: await Client.connect(card, { logger, retry: false }),
    async [Symbol.asyncDispose]() {
      await rpc[Symbol.asyncDispose]();
      await rest[Symbol.asyncDispose]();
    },
  };
}

describe.each([
  ["1.0", "JSONRPC"],
  ["1.0", "HTTP+JSON"],
  ["0.3", "JSONRPC"],
] as const)("an answer of %s over %s with members that cannot be read", (version, binding) => {
  it("an answer with members that cannot be read is read without them, and each is logged once at debug", async () => {
    await using agent = await answering(version, binding);
    await using client = agent.client;
    for (let count = 0; count < 2; count++) {
      expect((await client.send("hello")).text).toBe("x\n\nx");
      expect((await client.stream("hello").answer).state).toBe("completed");
    }
    const records = [
      ["artifacts[].name", "a number"],
      ["status.timestamp", "a string"],
    ].map(([member, kind]) => ({
      ...{ level: "debug", message: text },
      fields: { agent: agent.url, member: expect.stringContaining(member ?? ""), kind },
    }));
    // The answer of a send and the event of a stream have the task at different places in some versions.
    const perMember = new Set(agent.log.map(({ fields }) => Object(fields).member));
    expect(agent.log).toHaveLength(perMember.size);
    for (const record of records) expect(agent.log).toContainEqual(record);
  });

  it("an answer with members that cannot be read is read in the same way without a logger", async () => {
    await using agent = await answering(version, binding);
    await using client = await Client.connect(agent.card, { retry: false, logger: false });
    expect((await client.send("hello")).state).toBe("completed");
    expect(agent.log).toEqual([]);
    await agent.client.close();
  });
});

it("a gateway logs what it leaves out of the answers of its agent", async () => {
  await using rpc = await rpcServer((response) => {
    const task = { ...taskIn("1.0"), status: { state: "TASK_STATE_COMPLETED", timestamp: 5 } };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { task, ...task } }));
  });
  const { log, logger } = recordingLogger();
  const card = cardOf([interfaceAt("JSONRPC", rpc.url)]);
  await using server = await gateway({ upstream: card, port: 0, drainMs: 0, logger });
  await using client = await Client.connect(server.url, { retry: false });
  expect((await client.send("hello")).state).toBe("completed");
  const fields = { agent: interfaceAt("JSONRPC", rpc.url)["url"], member: "task.status.timestamp", kind: "a number" };
  expect(log).toContainEqual({ level: "debug", fields, message: text });
});

it("unreadable metadata of an extension that the call activated refuses the answer", async () => {
  const uri = "https://x.example/v1";
  const metadata = { [uri]: JSON.parse('{"__proto__":{}}') };
  await using rpc = await rpcServer((response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { task: { ...taskIn("1.0"), metadata } } }));
  });
  await using client = await Client.connect(rpc.card, { retry: false, extensions: [uri] });
  await expect(client.send("hello")).rejects.toMatchObject({ code: "invalidAgentResponse" });
  await using other = await Client.connect(rpc.card, { retry: false });
  expect((await other.send("hello")).state).toBe("completed");
});
