import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";

// An agent that behaves as one on Java's SDK: it numbers no events, and leaves the connection of a stream open behind
// INPUT_REQUIRED, a direct message or the end of its task. The client has to find the end of the answer in its events.

const ids = { contextId: "c", taskId: "t" };

/** The events of an answer in the JSON of a version. */
const wires = {
  "1.0": {
    task: { task: { id: "t", contextId: "c", status: { state: "TASK_STATE_SUBMITTED" } } },
    question: { statusUpdate: { ...ids, status: { state: "TASK_STATE_INPUT_REQUIRED" } } },
    result: { artifactUpdate: { ...ids, artifact: { artifactId: "a", parts: [{ text: "hello" }] } } },
    end: { statusUpdate: { ...ids, status: { state: "TASK_STATE_COMPLETED" } } },
    reply: { message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "hello" }] } },
  },
  "0.3": {
    task: { kind: "task", id: "t", contextId: "c", status: { state: "submitted" } },
    question: { kind: "status-update", ...ids, status: { state: "input-required" }, final: false },
    result: {
      kind: "artifact-update",
      ...ids,
      artifact: { artifactId: "a", parts: [{ kind: "text", text: "hello" }] },
    },
    end: { kind: "status-update", ...ids, status: { state: "completed" }, final: true },
    reply: { kind: "message", messageId: "m", role: "agent", parts: [{ kind: "text", text: "hello" }] },
  },
} as const;
type Version = keyof typeof wires;

const answers = [
  ["a question", ["task", "question"], "input-required"],
  ["a direct message", ["reply"], "message"],
  ["the end of its task", ["task", "result", "end"], "completed"],
] as const;
type EventName = keyof (typeof wires)[Version];

function cardOf(version: Version, binding: string, url: string) {
  const card = {
    name: "Open",
    description: "Leaves its streams open",
    version: "1",
    capabilities: { streaming: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [],
  };
  return version === "1.0"
    ? { ...card, supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: "1.0" }] }
    : { ...card, protocolVersion: "0.3.0", url, preferredTransport: binding };
}

/** Serves the card and one answer, whose connection it never ends. */
async function openAgent(version: Version, binding: string, names: readonly EventName[]) {
  const streams: ServerResponse[] = [];
  const server = createServer(async (request, response) => {
    const { port } = server.address() as AddressInfo;
    if (request.method === "GET") {
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify(cardOf(version, binding, `http://127.0.0.1:${port}`)));
      return;
    }
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString()) as { id?: unknown };
    streams.push(response);
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    for (const name of names) {
      const result = wires[version][name];
      const data = binding === "JSONRPC" ? { jsonrpc: "2.0", id: body.id, result } : result;
      response.write(`data: ${JSON.stringify(data)}\n\n`);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    streams,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

describe.each([
  ["1.0", "JSONRPC"],
  ["1.0", "HTTP+JSON"],
  ["0.3", "JSONRPC"],
] as const)("an agent of %s over %s that leaves its streams open", (version, binding) => {
  it.each(answers)(
    "an agent that leaves streams open ends the answer with %s, and the client lets the connection go",
    async (_, names, state) => {
      await using agent = await openAgent(version, binding, names);
      await using client = await Client.connect(agent.url);
      const stream = client.stream("go");
      let events = 0;
      for await (const _event of stream) events++;
      expect([events, (await stream.answer).state]).toEqual([names.length, state]);
      const [response] = agent.streams;
      expect(agent.streams).toHaveLength(1);
      await expect.poll(() => response?.closed).toBe(true);
    },
  );
});
