import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { type AgentServer, artifact, completed, serve } from "trivium";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GetTaskRequestSchema } from "../../src/protocol/model.js";
import { frame } from "../support/grpc-raw.js";
import { httpLine, json } from "../support/raw-http.js";

// Replies of up to 64 KB, which no call books, on connections whose peer takes nothing.

const mebibyte = 1 << 20;
const replies = 80;
const text = "x".repeat(50_000);
// As small in characters, and of 150 KB.
const wideText = "\u5b57".repeat(50_000);

let server: AgentServer;
let id = "";

async function ask(method: string, params: object) {
  using line = httpLine(server.port);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return JSON.parse((await line.ask({ target: "/json-rpc", headers: { ...json, "A2A-Version": "1.0" }, body })).text);
}

async function makeTask(asked: string): Promise<string> {
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: asked }] };
  return (await ask("SendMessage", { message })).result.task.id;
}

beforeEach(async () => {
  server = await serve({
    card: { name: "Replies", description: "Has tasks", version: "1.0.0" },
    port: 0,
    drainMs: 0,
    limits: { inFlightMaxBytes: 8 * mebibyte, replyStallMs: 600_000 },
    async *agent({ text: asked }) {
      yield artifact(asked === "wide" ? wideText : text);
      yield completed();
    },
  });
  id = await makeTask("go");
});
afterEach(() => server.close());

interface Form {
  readonly head: () => Readonly<Record<string, string>>;
  readonly body?: () => string | Uint8Array;
}

const forms: Readonly<Record<string, Form>> = {
  JSONRPC: {
    head: () => ({ ":method": "POST", ":path": "/json-rpc", "a2a-version": "1.0", "content-type": "application/json" }),
    body: () => JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id } }),
  },
  "HTTP+JSON": { head: () => ({ ":path": `/http-json/tasks/${id}`, "a2a-version": "1.0" }) },
  GRPC: {
    head: () => ({
      ...{ ":method": "POST", ":path": "/lf.a2a.v1.A2AService/GetTask", te: "trailers" },
      ...{ "content-type": "application/grpc", "a2a-version": "1.0" },
    }),
    body: () => frame(toBinary(GetTaskRequestSchema, create(GetTaskRequestSchema, { id }))),
  },
};

/** Asks on a connection that takes nothing. Resolves with the stream when its headers have come. */
async function unread(session: ClientHttp2Session, { head, body }: Form): Promise<ClientHttp2Stream> {
  const stream = session.request(head()).on("error", () => {});
  if (body !== undefined) stream.end(body());
  await once(stream, "response");
  return stream;
}

async function closedWindow(): Promise<ClientHttp2Session> {
  const session = connect(server.url, { settings: { initialWindowSize: 0 } });
  await once(session, "remoteSettings");
  return session;
}

describe.each(Object.entries(forms))("small replies over %s that a peer does not take", (_, form) => {
  it("small replies that a peer does not take are given up where there is no room for them", async () => {
    const sessions = [await closedWindow(), await closedWindow()];
    const many = sessions.flatMap((session) => Array.from({ length: replies }, () => unread(session, form)));
    const outcomes = many.map((opening) => opening.then((stream) => once(stream, "close")));
    // One that is refused gives an error.
    await Promise.race(outcomes).catch(() => {});
    const { result } = await ask("GetTask", { id });
    expect(result.artifacts[0].parts[0].text).toBe(text);
    for (const session of sessions) session.destroy();
  });

  it("small replies of characters of three bytes are given up as well", async () => {
    id = await makeTask("wide");
    const session = await closedWindow();
    const outcomes = Array.from({ length: replies }, async () => once(await unread(session, form), "close"));
    // One that is refused gives an error.
    await Promise.race(outcomes).catch(() => {});
    session.destroy();
  });

  it("small replies to a peer that takes none are refused once a burst has filled the room", async () => {
    const sessions = await Promise.all(Array.from({ length: 10 }, closedWindow));
    const refused = Promise.withResolvers<void>();
    for (const session of sessions) {
      for (let count = 0; count < replies; count++) {
        const stream = session.request(form.head()).on("error", () => {});
        stream.on("response", ({ ":status": status, "grpc-status": code }) => {
          // RESOURCE_EXHAUSTED
          if (status === 429 || code === "8") refused.resolve();
        });
        stream.end(form.body?.());
      }
    }
    await refused.promise;
    for (const session of sessions) session.destroy();
    await expect.poll(() => ask("GetTask", { id })).toHaveProperty("result.id", id);
  });

  it("small replies are given to a peer that takes them late", async () => {
    const session = await closedWindow();
    const stream = await unread(session, form);
    session.settings({ initialWindowSize: mebibyte });
    let bytes = 0;
    for await (const piece of stream) bytes += piece.length;
    expect(bytes).toBeGreaterThan(text.length);
    session.destroy();
  });
});
