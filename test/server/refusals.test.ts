import { create, toBinary } from "@bufbuild/protobuf";
import { A2AError, type Agent, gateway, reply, serve, working } from "trivium";
import { describe, expect, it } from "vitest";
import { bindingNames } from "../../src/protocol/bindings.js";
import { SendMessageRequestSchema } from "../../src/protocol/model.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { breakingProxy } from "../support/breaking-proxy.js";
import { fixedPort } from "../support/fixed-port.js";
import { frame, type RawAnswer, rawSession } from "../support/grpc-raw.js";
import { say } from "../support/say.js";

// Proxies know an answer by its HTTP status, and repeat 503: it says in every form that nothing of the call has begun.

const card = { name: "Busy", description: "Refuses", version: "1" };
const request = say("go");
const json = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] } };
const bytes = frame(toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema, request)));

/** A send in one form: its path, content type and body. */
interface Form {
  readonly path: string;
  readonly type: string;
  readonly body: Uint8Array;
}

const rpc = (method: string): Form => ({
  path: "/json-rpc",
  type: "application/json",
  body: Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: json })),
});
const rest = (path: string): Form => ({
  path: `/http-json/${path}`,
  type: "application/json",
  body: Buffer.from(JSON.stringify(json)),
});
const protobuf = (method: string, type: string, body: Uint8Array): Form => ({
  path: `/lf.a2a.v1.A2AService/${method}`,
  type,
  body,
});

const forms: Readonly<Record<string, Form>> = {
  "JSON-RPC": rpc("SendMessage"),
  "a stream of JSON-RPC": rpc("SendStreamingMessage"),
  "HTTP+JSON": rest("message:send"),
  "a stream of HTTP+JSON": rest("message:stream"),
  // Connect's streams and gRPC-Web have 200 for every error, as their clients expect.
  Connect: protobuf("SendMessage", "application/json", Buffer.from(JSON.stringify(json))),
  gRPC: protobuf("SendMessage", "application/grpc", bytes),
  "a stream of gRPC": protobuf("SendStreamingMessage", "application/grpc", bytes),
};

async function call(port: number, { path, type, body }: Form): Promise<RawAnswer> {
  using session = rawSession(port);
  return await session.call("", body, { ":path": path, "content-type": type, "a2a-version": "1.0" });
}

/** What a client of the form reads of an answer: the status of gRPC, and all of its texts. */
function readAll({ headers, trailers, body }: RawAnswer): string {
  return decodeURIComponent(JSON.stringify([headers, trailers]) + body.toString());
}

const unavailable = 14;

async function* waiting({ signal }: { readonly signal: AbortSignal }) {
  yield working();
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

describe.each(Object.entries(forms))("over %s", (name, form) => {
  const expectRefusal = (answer: RawAnswer, text: string): void => {
    expect(answer.headers[":status"]).toBe(503);
    expect(readAll(answer)).toContain(text);
    // The errors of a call keep their gRPC status, whatever their HTTP status.
    if (name.endsWith("gRPC")) {
      expect(answer.status).toBe(unavailable);
      expect(answer.headers["grpc-status-details-bin"]).toBeDefined();
    } else {
      expect(answer.headers["content-type"]).toContain("json");
      expect(answer.headers["retry-after"]).toBe("1");
    }
  };

  it("a server that drains refuses with 503", async () => {
    const gate = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const server = await serve({
      card,
      port: 0,
      drainMs: 30_000,
      async agent() {
        started.resolve();
        await gate.promise;
        return reply("done");
      },
    });
    const first = call(server.port, rest("message:send"));
    await started.promise;
    const closing = server.close();
    expectRefusal(await call(server.port, form), "shutting down");
    gate.resolve();
    expect((await first).headers[":status"]).toBe(200);
    await closing;
  });

  it("a process whose turns are full refuses with 503", async () => {
    const limits = { turnsPerProcess: 1, turnWaitMs: 1, graceMs: 10 };
    await using server = await serve({ card, port: 0, drainMs: 0, limits, agent: waiting });
    const configuration = { returnImmediately: true };
    const body = Buffer.from(JSON.stringify({ ...json, configuration }));
    expect((await call(server.port, { ...rest("message:send"), body })).headers[":status"]).toBe(200);
    expectRefusal(await call(server.port, form), "turnsPerProcess");
  });

  it("a call whose agent has started and is unavailable is not answered with 503", async () => {
    let runs = 0;
    const agent: Agent = async () => {
      runs++;
      throw new A2AError("unavailable", "the model is away");
    };
    await using server = await serve({ card, port: 0, drainMs: 0, agent });
    const answer = await call(server.port, form);
    expect(runs).toBe(1);
    expect(answer.headers[":status"]).not.toBe(503);
    expect(readAll(answer)).toContain("the model is away");
  });

  it("a first write that the store does not answer in time is not answered with 503, since the agent has started", async () => {
    let runs = 0;
    const store = Object.assign(memoryTaskStore(), { create: () => new Promise<never>(() => {}) });
    const limits = { storeWaitMs: 50, graceMs: 10 };
    await using server = await serve({
      ...{ card, port: 0, drainMs: 0, limits, store },
      async *agent() {
        runs++;
        yield working();
      },
    });
    const answer = await call(server.port, form);
    expect(runs).toBe(1);
    expect(answer.headers[":status"]).not.toBe(503);
    expect(readAll(answer)).toContain("store");
  });

  it("a gateway whose agent is not there refuses with 503", async () => {
    const { proxy, agent, front } = await behindGateway(async () => reply("done"));
    await agent.close();
    await proxy[Symbol.asyncDispose]();
    const answer = await call(front.port, form);
    expect(answer.headers[":status"]).toBe(503);
    expect(readAll(answer)).toContain("behind the gateway");
    await front.close();
  });

  it("a gateway whose connection breaks in mid-call does not answer with 503, since its agent has started", async () => {
    const started = Promise.withResolvers<void>();
    const { proxy, agent, front } = await behindGateway(async function* (turn) {
      started.resolve();
      yield* waiting(turn);
    });
    const answering = call(front.port, form);
    await started.promise;
    await proxy[Symbol.asyncDispose]();
    const answer = await answering;
    expect(answer.headers[":status"]).not.toBe(503);
    await front.close();
    await agent.close();
  });
});

/** An agent behind a gateway, and the connections between them. */
async function behindGateway(agent: Agent) {
  const port = await fixedPort();
  const proxy = await breakingProxy(port);
  const limits = { graceMs: 10 };
  const server = await serve({ card, port, publicUrl: proxy.url, drainMs: 0, limits, agent, bindings: ["HTTP+JSON"] });
  const front = await gateway({
    upstream: proxy.url,
    port: 0,
    drainMs: 0,
    client: { retry: false },
    bindings: bindingNames,
  });
  return { proxy, agent: server, front };
}
