import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { type AgentServer, artifact, completed, serve } from "trivium";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  GetTaskRequestSchema,
  ListTasksRequestSchema,
  SubscribeToTaskRequestSchema,
} from "../../src/protocol/model.js";
import { frame } from "../support/grpc-raw.js";
import { httpLine, json } from "../support/raw-http.js";

// Replies that are asked for and not read. A task of 12 MB is more than the buffers of a socket take.

const mebibyte = 1 << 20;
const service = "/lf.a2a.v1.A2AService";

let server: AgentServer;
let session: ClientHttp2Session;
const tasks: Record<string, string> = {};
const held = Promise.withResolvers<void>();

/** Calls a method as `caller` and gives the HTTP status and the result. */
async function ask(caller: string, method: string, params: object) {
  using line = httpLine(server.port);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const headers = { ...json, "A2A-Version": "1.0", "x-caller": caller };
  const { status, text } = await line.ask({ target: "/json-rpc", headers, body });
  return { status, result: JSON.parse(text).result, text };
}

beforeAll(async () => {
  server = await serve({
    card: { name: "Replies", description: "Has large tasks", version: "1.0.0" },
    port: 0,
    drainMs: 0,
    authenticate: ({ header }) => ({ owner: header("x-caller") ?? "nobody" }),
    limits: { inFlightMaxBytes: 64 * mebibyte },
    async *agent() {
      for (const artifactId of ["a", "b", "c"]) yield artifact("x".repeat(4 * mebibyte - 1024), { artifactId });
      await held.promise;
      yield completed();
    },
  });
  session = connectHttp2(server.url);
  for (const caller of ["hog", "honest"]) {
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] };
    const configuration = { returnImmediately: true };
    const { result } = await ask(caller, "SendMessage", { message, configuration });
    tasks[caller] = result.task.id;
  }
  for (const caller of ["hog", "honest"]) {
    const isWhole = async (): Promise<void> => {
      const { text } = await ask(caller, "GetTask", { id: tasks[caller] });
      expect(text.length).toBeGreaterThan(11 * mebibyte);
    };
    await vi.waitFor(isWhole, { timeout: 30_000 });
  }
}, 60_000);

afterAll(async () => {
  held.resolve();
  session.destroy();
  await server.close();
});

const id = (): string => tasks["hog"] ?? "";

/** A call of the caller `hog` whose reply has begun and is not read; the function that is returned leaves it. */
type Unread = () => Promise<() => void>;

function overHttp(method: string, target: () => string, body?: () => object): Unread {
  return async () => {
    const socket = connect({ port: server.port, host: "127.0.0.1" });
    socket.on("error", () => {});
    const text = body === undefined ? "" : JSON.stringify(body());
    const head = `Host: localhost\r\nx-caller: hog\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n`;
    socket.write(`${method} ${target()} HTTP/1.1\r\n${head}Content-Length: ${text.length}\r\n\r\n${text}`);
    // The first bytes are there; nobody takes them.
    await once(socket, "readable");
    return () => socket.destroy();
  };
}

const rpc = (method: string, params: () => object): Unread =>
  overHttp(
    "POST",
    () => "/json-rpc",
    () => ({ jsonrpc: "2.0", id: 1, method, params: params() }),
  );

function overGrpc(method: string, message: () => Uint8Array): Unread {
  return async () => {
    const head = { ":method": "POST", ":path": `${service}/${method}`, te: "trailers", "x-caller": "hog" };
    const stream = session.request({ ...head, "content-type": "application/grpc", "a2a-version": "1.0" });
    stream.on("error", () => {});
    stream.end(frame(message()));
    await once(stream, "response");
    return () => stream.destroy();
  };
}

const unread: Readonly<Record<string, Unread>> = {
  "GetTask over JSON-RPC": rpc("GetTask", () => ({ id: id() })),
  "ListTasks over JSON-RPC": rpc("ListTasks", () => ({ includeArtifacts: true })),
  "SubscribeToTask over JSON-RPC": rpc("SubscribeToTask", () => ({ id: id() })),
  "GetTask over HTTP+JSON": overHttp("GET", () => `/http-json/tasks/${id()}`),
  "SubscribeToTask over HTTP+JSON": overHttp("GET", () => `/http-json/tasks/${id()}:subscribe`),
  "GetTask over gRPC": overGrpc("GetTask", () =>
    toBinary(GetTaskRequestSchema, create(GetTaskRequestSchema, { id: id() })),
  ),
  "ListTasks over gRPC": overGrpc("ListTasks", () =>
    toBinary(ListTasksRequestSchema, create(ListTasksRequestSchema, { includeArtifacts: true })),
  ),
  "SubscribeToTask over gRPC": overGrpc("SubscribeToTask", () =>
    toBinary(SubscribeToTaskRequestSchema, create(SubscribeToTaskRequestSchema, { id: id() })),
  ),
  "GetTask over Connect": overHttp(
    "POST",
    () => `${service}/GetTask`,
    () => ({ id: id() }),
  ),
};

describe("replies that are not read", () => {
  it.each(Object.entries(unread))(
    "replies that are not read take half of the room of other calls at most: %s",
    async (_, begin) => {
      const get = (caller: string) => ask(caller, "GetTask", { id: tasks[caller] });
      const leave = [await begin(), await begin()];
      await expect.poll(async () => (await get("hog")).status).toBe(429);
      expect((await get("hog")).text).toContain("this caller");
      expect((await get("honest")).status).toBe(200);
      for (const each of leave) each();
      await expect.poll(async () => (await get("hog")).status).toBe(200);
    },
  );
});
