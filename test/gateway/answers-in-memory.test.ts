import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { buffer as bufferOf, text as textOf } from "node:stream/consumers";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Gateway, gateway } from "trivium";
import { describe, expect, it } from "vitest";
import {
  GetTaskRequestSchema,
  StreamResponseSchema,
  SubscribeToTaskRequestSchema,
  TaskSchema,
  TaskState,
} from "../../src/protocol/model.js";
import { postJson } from "../support/http-agent.js";

// What an agent answers is in the gateway's memory before anybody knows how large it will be.

const mebibyte = 1 << 20;
const v1 = { "A2A-Version": "1.0" };

/** The card of an agent with one interface. */
function cardWith(protocolBinding: string, url: string): string {
  const supportedInterfaces = [{ url, protocolBinding, protocolVersion: "1.0" }];
  const skills = [{ id: "s", name: "S", description: "S", tags: [] }];
  const modes = { defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"] };
  const card = { name: "Large", description: "Is large", version: "1", supportedInterfaces, skills, ...modes };
  return JSON.stringify({ ...card, capabilities: { streaming: true } });
}

/** An agent whose task "large" has 3 MiB, and whose answers about it lack their last bytes until `finish` is called. */
async function startAgent() {
  const unfinished = new Map<ServerResponse, string>();
  const answerTo = (id: unknown, taskId: string, streams: boolean): readonly [string, string] => {
    const status = { state: "TASK_STATE_COMPLETED" };
    const artifacts = [{ artifactId: "a", parts: [{ text: "x".repeat(taskId === "large" ? 3 * mebibyte : 1) }] }];
    const task = { id: taskId, contextId: "c", status, artifacts };
    const reply = JSON.stringify({ jsonrpc: "2.0", id, result: streams ? { task } : task });
    const whole = streams ? `data: ${reply}\n\n` : reply;
    return [whole.slice(0, -20), whole.slice(-20)];
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url?.includes("agent-card") === true) {
      const { port } = server.address() as AddressInfo;
      response.end(cardWith("JSONRPC", `http://127.0.0.1:${port}/rpc`));
      return;
    }
    const { id, method, params } = JSON.parse(await textOf(request));
    const streams = method === "SubscribeToTask";
    const [most, rest] = answerTo(id, params.id, streams);
    response.writeHead(200, { "Content-Type": streams ? "text/event-stream" : "application/json" }).write(most);
    if (params.id !== "large") response.end(rest);
    else unfinished.set(response, rest);
    response.on("close", () => unfinished.delete(response));
  };
  const server = createServer((request, response) => void handle(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    unfinished,
    finish() {
      for (const [response, rest] of unfinished) response.end(rest);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** The same agent over gRPC alone. */
async function startGrpcAgent() {
  const unfinished = new Map<ServerHttp2Stream, Buffer>();
  const sessions = new Set<ServerHttp2Session>();
  const finish = (stream: ServerHttp2Stream, rest: Buffer): void => {
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(rest);
  };
  const calls = createHttp2Server()
    .on("session", (session) => sessions.add(session))
    .on("stream", async (stream, { ":path": path = "" }) => {
      stream.on("error", () => {});
      const request = (await bufferOf(stream)).subarray(5);
      const streams = path.endsWith("/SubscribeToTask");
      const { id } = fromBinary(streams ? SubscribeToTaskRequestSchema : GetTaskRequestSchema, request);
      const task = create(TaskSchema, {
        id,
        contextId: "c",
        status: { state: TaskState.COMPLETED },
        artifacts: [
          {
            artifactId: "a",
            parts: [{ content: { case: "text", value: "x".repeat(id === "large" ? 3 * mebibyte : 1) } }],
          },
        ],
      });
      const payload = { case: "task", value: task } as const;
      const message = streams
        ? toBinary(StreamResponseSchema, create(StreamResponseSchema, { payload }))
        : toBinary(TaskSchema, task);
      const head = Buffer.alloc(5);
      head.writeUInt32BE(message.length, 1);
      const whole = Buffer.concat([head, message]);
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      if (id !== "large") return finish(stream, whole);
      stream.write(whole.subarray(0, -20));
      unfinished.set(stream, whole.subarray(-20));
      stream.on("close", () => unfinished.delete(stream));
    })
    .listen(0, "127.0.0.1");
  await once(calls, "listening");
  const { port } = calls.address() as AddressInfo;
  const cards = createServer((_, response) => response.end(cardWith("GRPC", `http://127.0.0.1:${port}`)));
  cards.listen(0, "127.0.0.1");
  await once(cards, "listening");
  return {
    url: `http://127.0.0.1:${(cards.address() as AddressInfo).port}`,
    unfinished,
    finish() {
      for (const [stream, rest] of unfinished) finish(stream, rest);
    },
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      cards.closeAllConnections();
      const closed = [calls, cards].map((server) => once(server, "close"));
      for (const server of [calls, cards]) server.close();
      await Promise.all(closed);
    },
  };
}

const agents = { JSONRPC: startAgent, GRPC: startGrpcAgent } as const;

function ask({ url }: Gateway, id: string, { owner = "hog", method = "GetTask" } = {}) {
  const headers = { ...v1, "x-owner": owner, accept: method === "GetTask" ? "application/json" : "text/event-stream" };
  return postJson(`${url}/json-rpc`, { jsonrpc: "2.0", id: 1, method, params: { id } }, headers);
}

async function startGateway(upstream: string): Promise<Gateway> {
  return gateway({
    ...{ upstream, port: 0, drainMs: 0, logger: false },
    authenticate: ({ header }) => ({ owner: header("x-owner") ?? "" }),
    limits: { inFlightMaxBytes: 10 * mebibyte },
  });
}

describe("answers of the agent that are not whole", () => {
  it.each([
    ["GetTask", "JSONRPC"],
    ["SubscribeToTask", "JSONRPC"],
    ["GetTask", "GRPC"],
    ["SubscribeToTask", "GRPC"],
  ] as const)(
    "unfinished answers of the agent take half of the room of others at most: %s over %s",
    async (method, binding) => {
      await using agent = await agents[binding]();
      await using served = await startGateway(agent.url);
      const both = [1, 2].map(() => ask(served, "large", { method }));
      // The agent ends neither answer, so that only a refusal ends a call.
      const refused = await Promise.race(both);
      expect(refused.text).toMatch(/too many bytes of this caller in memory.*inFlightMaxBytes/);
      if (method === "GetTask") expect(refused.status).toBe(429);
      await expect.poll(() => agent.unfinished.size).toBe(1);
      expect((await ask(served, "small", { owner: "honest" })).status).toBe(200);
      expect((await ask(served, "small")).status).toBe(200);

      agent.finish();
      const sizes = (await Promise.all(both)).map(({ text }) => text.length > 3 * mebibyte);
      expect(sizes.filter(Boolean)).toHaveLength(1);
      const again = ask(served, "large");
      await expect.poll(() => agent.unfinished.size).toBe(1);
      agent.finish();
      expect((await again).status).toBe(200);
    },
  );
});
