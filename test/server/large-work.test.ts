import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { type AgentServer, artifact, completed, reply, serve } from "trivium";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { GetTaskRequestSchema, SubscribeToTaskRequestSchema } from "../../src/protocol/model.js";
import { frame } from "../support/grpc-raw.js";
import { httpLine, json } from "../support/raw-http.js";

// Large replies and requests of one caller, and a small call of another that arrives behind them.

const mebibyte = 1 << 20;
const service = "/lf.a2a.v1.A2AService";
const atOnce = 8;

let server: AgentServer;
let session: ClientHttp2Session;
let id: string;
const held = Promise.withResolvers<void>();

const messageOf = (text: string) => ({ messageId: "m", role: "ROLE_USER", parts: [{ text }] });
const rpcBody = (method: string, params: object): string => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });

beforeAll(async () => {
  server = await serve({
    card: { name: "Work", description: "Has a large task", version: "1.0.0" },
    port: 0,
    drainMs: 0,
    authenticate: ({ header }) => ({ owner: header("x-caller") ?? "nobody" }),
    limits: { inFlightMaxBytes: 1024 * mebibyte },
    async *agent({ text }) {
      if (!text.startsWith("task")) {
        yield reply("done");
        return;
      }
      for (const artifactId of ["a", "b"]) yield artifact("x".repeat(3 * mebibyte), { artifactId });
      await held.promise;
      yield completed();
    },
  });
  session = connectHttp2(server.url);
  await once(session, "connect");
  using line = httpLine(server.port);
  const configuration = { returnImmediately: true };
  const body = rpcBody("SendMessage", { message: messageOf("task"), configuration });
  const { text } = await line.ask({ target: "/json-rpc", headers: headersOf("hog"), body });
  id = JSON.parse(text).result.task.id;
  const isWhole = async (): Promise<void> => {
    const get = { target: "/json-rpc", headers: headersOf("hog"), body: rpcBody("GetTask", { id }) };
    expect((await line.ask(get)).text.length).toBeGreaterThan(6 * mebibyte);
  };
  await vi.waitFor(isWhole, { timeout: 30_000 });
}, 60_000);

afterAll(async () => {
  held.resolve();
  session.destroy();
  await server.close();
});

const headersOf = (caller: string) => ({ ...json, "A2A-Version": "1.0", "x-caller": caller });

/** Sends a call over a connection that is open, and calls `onFirstBytes` with the first bytes of its reply. */
type Send = (onFirstBytes: () => void) => Promise<() => void>;

const overHttp =
  (caller: string, target: string | (() => string), body: () => string): Send =>
  async (onFirstBytes) => {
    const socket = connect({ port: server.port, host: "127.0.0.1" });
    await once(socket, "connect");
    socket.on("error", () => {}).once("data", onFirstBytes);
    const head = Object.entries({ Host: "localhost", ...headersOf(caller), "Content-Length": body().length });
    const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    return () =>
      socket.write(`POST ${typeof target === "string" ? target : target()} HTTP/1.1\r\n${lines}\r\n${body()}`);
  };

const overGrpc =
  (method: string, message: () => Uint8Array): Send =>
  async (onFirstBytes) => {
    const head = { ":method": "POST", ":path": `${service}/${method}`, te: "trailers", "x-caller": "hog" };
    return () => {
      const stream = session.request({ ...head, "content-type": "application/grpc", "a2a-version": "1.0" });
      stream.on("error", () => {}).once("response", onFirstBytes);
      stream.end(frame(message()));
    };
  };

const small = overHttp("honest", "/json-rpc", () => rpcBody("SendMessage", { message: messageOf("hello") }));

const large: Readonly<Record<string, Send>> = {
  "GetTask over JSON-RPC": overHttp("hog", "/json-rpc", () => rpcBody("GetTask", { id })),
  "ListTasks over JSON-RPC": overHttp("hog", "/json-rpc", () => rpcBody("ListTasks", { includeArtifacts: true })),
  "SubscribeToTask over JSON-RPC": overHttp("hog", "/json-rpc", () => rpcBody("SubscribeToTask", { id })),
  "SubscribeToTask over HTTP+JSON": overHttp(
    "hog",
    () => `/http-json/tasks/${id}:subscribe`,
    () => "{}",
  ),
  "GetTask over gRPC": overGrpc("GetTask", () => toBinary(GetTaskRequestSchema, create(GetTaskRequestSchema, { id }))),
  "SubscribeToTask over gRPC": overGrpc("SubscribeToTask", () =>
    toBinary(SubscribeToTaskRequestSchema, create(SubscribeToTaskRequestSchema, { id })),
  ),
  "GetTask over Connect": overHttp("hog", `${service}/GetTask`, () => JSON.stringify({ id })),
};

describe("a small call is answered before the last of the large replies that another caller asked for earlier", () => {
  it.each(Object.entries(large))(
    "a small call is answered before the last of the large replies that another caller asked for earlier: %s",
    async (_, send) => {
      const order: string[] = [];
      const createCall = (name: string) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        return { promise, begin: () => resolve(void order.push(name)) };
      };
      const calls = [...Array.from({ length: atOnce }, () => createCall("large")), createCall("small")];
      const go = await Promise.all(calls.map(({ begin }, index) => (index < atOnce ? send : small)(begin)));
      for (const each of go) each();
      await Promise.all(calls.map(({ promise }) => promise));
      expect(order.at(-1)).toBe("large");
    },
  );
});
