import { fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { type AgentServer, serve, working } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createConnectTransport } from "../../src/binding/connect/client.js";
import { createHttpJsonTransport } from "../../src/binding/http-json/client.js";
import { createJsonRpcTransport } from "../../src/binding/json-rpc/client.js";
import { A2AError } from "../../src/protocol/errors.js";
import type { Fetch } from "../../src/protocol/fetch.js";
import { type SendMessageRequest, SendMessageRequestSchema } from "../../src/protocol/model.js";
import { adapter as grpcAdapter } from "../support/grpc-agent.js";
import { frame, rawSession } from "../support/grpc-raw.js";
import { httpAdapter, rpcAdapter } from "../support/http-agent.js";
import { grpcOutcome } from "../support/raw-grpc.js";

// The call pipeline has one order on every path: authenticate, version, extensions, admit, decode, invoke. A call with
// a fault for each step is answered for the first one; removing a fault reveals the next.

const uri = "urn:example:required";

/** The faults in the order they must be found, with their errors, the same on every path. */
const faults = {
  "has no caller": "unauthenticated: who calls?",
  "declares a version that is not served": expect.stringMatching(
    /^versionNotSupported: unsupported A2A version 9\.9 \(supported: /,
  ),
  "lacks a required extension": `extensionSupportRequired: the agent requires the extension ${uri}: activate it`,
  "comes while the server drains": "unavailable: the server is shutting down",
  // Each binding names its own decoding error.
  "cannot be read": expect.stringMatching(/^parseError: /),
  "has no parts": "invalidParams: invalid parameters: message.parts needs at least one entry",
  "names a task that does not exist": "taskNotFound: Task not found",
} as const;

type Fault = keyof typeof faults;
const order = Object.keys(faults) as readonly Fault[];

/** A call: its headers, its message, and whether its bytes are spoiled on the way. */
interface Call {
  readonly server: AgentServer;
  readonly method: "sendMessage" | "sendStreamingMessage";
  readonly headers: Readonly<Record<string, string>>;
  readonly request: SendMessageRequest;
  readonly isSpoilt: boolean;
}

let open: AgentServer;
let draining: AgentServer;
let closing: Promise<void>;
let runs = 0;
const gate = Promise.withResolvers<void>();

const start = () =>
  serve({
    card: { name: "Strict", description: "Asks for everything", version: "1", extensions: [{ uri, required: true }] },
    versions: ["1.0"],
    port: 0,
    drainMs: 30_000,
    authenticate({ header }) {
      if (header("x-caller") === undefined) throw new A2AError("unauthenticated", "who calls?");
      return { owner: "known" };
    },
    async *agent({ text }) {
      runs++;
      yield working();
      if (text === "hold") await gate.promise;
    },
  });

let lastId = 0;
const requestWith = (message: JsonObject): SendMessageRequest =>
  fromJson(SendMessageRequestSchema, { message: { messageId: `m${++lastId}`, role: "ROLE_USER", ...message } });

function callWith(method: Call["method"], present: ReadonlySet<Fault>): Call {
  const headers: Record<string, string> = {
    "a2a-version": present.has("declares a version that is not served") ? "9.9" : "1.0",
  };
  if (!present.has("has no caller")) headers["x-caller"] = "known";
  if (!present.has("lacks a required extension")) headers["a2a-extensions"] = uri;
  const message = {
    parts: present.has("has no parts") ? [] : [{ text: "go" }],
    ...(present.has("names a task that does not exist") ? { taskId: "nowhere" } : {}),
  };
  return {
    server: present.has("comes while the server drains") ? draining : open,
    method,
    headers,
    request: requestWith(message),
    isSpoilt: present.has("cannot be read"),
  };
}

/** `fetch` with the headers and body of the call instead of the transport's. */
const fetchOf =
  ({ headers, isSpoilt }: Call, spoilt: string | Uint8Array<ArrayBuffer>): Fetch =>
  (input, init) => {
    const all = new Headers(init?.headers);
    for (const name of ["a2a-version", "a2a-extensions"]) all.delete(name);
    for (const [name, value] of Object.entries(headers)) all.set(name, value);
    return fetch(input, { ...init, headers: all, ...(isSpoilt ? { body: spoilt } : {}) });
  };

const noMessage = Uint8Array.of(10, 255);

type Operations = Pick<ReturnType<typeof createJsonRpcTransport>, Call["method"]>;

/** The error of a call, or `undefined` if it succeeded. */
async function errorOver(transport: Operations, { method, request }: Call): Promise<A2AError | undefined> {
  try {
    if (method === "sendMessage") await transport.sendMessage(request, {});
    else for await (const _ of transport.sendStreamingMessage(request, {}));
    return undefined;
  } catch (error) {
    if (error instanceof A2AError) return error;
    throw error;
  }
}

const connectOver = (call: Call, protocol: "connect" | "grpc-web") => {
  const isFramed = protocol === "grpc-web" || call.method === "sendStreamingMessage";
  const spoilt = isFramed ? new Uint8Array(frame(noMessage)) : noMessage;
  const options = { url: call.server.url, adapter: grpcAdapter, protocol, fetch: fetchOf(call, spoilt) };
  return errorOver(createConnectTransport(options), call);
};

/** Every path into the server. */
const ways: Readonly<Record<string, (call: Call) => Promise<A2AError | undefined>>> = {
  JSONRPC: (call) => {
    const url = `${call.server.url}/json-rpc`;
    return errorOver(createJsonRpcTransport({ url, adapter: rpcAdapter, fetch: fetchOf(call, "{") }), call);
  },
  "HTTP+JSON": (call) => {
    const url = `${call.server.url}/http-json`;
    return errorOver(createHttpJsonTransport({ url, adapter: httpAdapter, fetch: fetchOf(call, "{") }), call);
  },
  async GRPC({ server, method, headers, request, isSpoilt }) {
    using session = rawSession(server.port);
    session.session.on("error", () => {});
    const bytes = isSpoilt ? noMessage : toBinary(SendMessageRequestSchema, request);
    const rpc = method === "sendMessage" ? "SendMessage" : "SendStreamingMessage";
    return grpcOutcome(await session.call(rpc, frame(bytes), headers)).error;
  },
  CONNECT: (call) => connectOver(call, "connect"),
  "gRPC-Web": (call) => connectOver(call, "grpc-web"),
  "in process": (call) => errorOver(call.server.inProcess({ headers: call.headers }), call),
};

beforeAll(async () => {
  [open, draining] = await Promise.all([start(), start()]);
  const headers = { "x-caller": "known", "a2a-extensions": uri };
  const held = draining.inProcess({ headers }).sendStreamingMessage(requestWith({ parts: [{ text: "hold" }] }), {});
  await held[Symbol.asyncIterator]().next();
  closing = draining.close();
});

afterAll(async () => {
  gate.resolve();
  await Promise.all([open?.close(), closing]);
});

describe.each(Object.entries(ways))("a call by %s", (way, errorOf) => {
  const methods = ["sendMessage", "sendStreamingMessage"] as const;
  it.each(methods)("a call gets the error of its first fault, in pipeline order: %s", async (method) => {
    const before = runs;
    // An in-process message has no bytes to spoil.
    const steps = order.filter((fault) => way !== "in process" || fault !== "cannot be read");
    const outcomes: unknown[] = [];
    for (const index of steps.keys()) {
      const error = await errorOf(callWith(method, new Set(steps.slice(index))));
      outcomes.push(error && `${error.code}: ${error.message}`);
    }
    expect(outcomes).toEqual(steps.map((fault) => faults[fault]));
    expect(runs).toBe(before);
    expect(await errorOf(callWith(method, new Set()))).toBeUndefined();
    expect(runs).toBe(before + 1);
  });
});
