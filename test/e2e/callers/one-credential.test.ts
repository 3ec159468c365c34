import { connect } from "node:net";
import { createAgent, reply, type ServeOptions, type Server, serve } from "trivium";
import { apiKey, basic } from "trivium/auth";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { frame } from "../../support/grpc-raw.js";
import { connectWithLines } from "../../support/http2-lines.js";
import { say } from "../../support/say.js";

// A proxy may check one of two credentials and the server use the other, so a call with two that differ is refused.

const card = { name: "Harbour", description: "Books berths", version: "1.0.0" };
const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] };
const kinded = { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "x" }] };
const typed = { role: "user", parts: [{ type: "text", text: "x" }] };
const content = { request: { messageId: "m", role: "ROLE_USER", content: [{ text: "x" }] } };
const rpc = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params });
const framed = frame(new Uint8Array());

interface Way {
  readonly path: string;
  readonly body: object | Buffer;
  readonly version?: string;
  readonly type?: string;
}

const service = "/lf.a2a.v1.A2AService";
const ways: Readonly<Record<string, Way>> = {
  "JSONRPC 1.0": { path: "/json-rpc", version: "1.0", body: rpc("SendMessage", { message }) },
  "JSONRPC 0.3": { path: "/json-rpc", version: "0.3", body: rpc("message/send", { message: kinded }) },
  "JSONRPC 0.2": { path: "/json-rpc", body: rpc("message/send", { message: kinded }) },
  "JSONRPC 0.1": { path: "/json-rpc", body: rpc("tasks/send", { id: "t", message: typed }) },
  "HTTP+JSON 1.0": { path: "/http-json/message:send", version: "1.0", body: { message } },
  "HTTP+JSON 0.3": { path: "/http-json/v1/message:send", version: "0.3", body: content },
  "CONNECT 1.0": { path: `${service}/SendMessage`, version: "1.0", body: { message } },
  "CONNECT 0.3": { path: "/a2a.v1.A2AService/SendMessage", version: "0.3", body: content },
  "grpc-web 1.0": { path: `${service}/SendMessage`, version: "1.0", type: "application/grpc-web+proto", body: framed },
  "GRPC 1.0": { path: `${service}/SendMessage`, version: "1.0", type: "application/grpc", body: framed },
  "GRPC 0.3": { path: "/a2a.v1.A2AService/SendMessage", version: "0.3", type: "application/grpc", body: framed },
};

type Lines = readonly (readonly [name: string, value: string])[];

function headersOf({ type = "application/json", version }: Way): Lines {
  return [
    ["content-type", type],
    ["te", "trailers"],
    ...(version === undefined ? [] : [["a2a-version", version] as const]),
  ];
}

const bytesOf = ({ body }: Way): Buffer => (Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body)));

/** Everything that a server answers to these lines, over HTTP/1.1. */
async function callHttp1(port: number, way: Way, lines: Lines, query = ""): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const body = bytesOf(way);
  const own: Lines = [
    ["Host", "127.0.0.1"],
    ["Connection", "close"],
    ["Content-Length", String(body.length)],
  ];
  const head = [...own, ...headersOf(way), ...lines].map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST ${way.path}${query} HTTP/1.1\r\n${head.join("")}\r\n`);
  socket.write(body);
  const pieces: Buffer[] = [];
  for await (const piece of socket) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString("latin1");
}

/** The same over HTTP/2. */
async function callHttp2(port: number, way: Way, lines: Lines, query = ""): Promise<string> {
  const target: Lines = [
    [":method", "POST"],
    [":path", way.path + query],
    [":scheme", "http"],
    [":authority", `127.0.0.1:${port}`],
  ];
  const own = [...target, ...headersOf(way), ...lines].map(([name, value]) => [name.toLowerCase(), value] as const);
  const session = connectWithLines(port, own);
  const stream = session.request({ ":method": "POST", ":path": "/" }, { endStream: false });
  let text = "";
  for (const event of ["response", "trailers"] as const) {
    stream.on(event, (fields) => {
      text += JSON.stringify(fields);
    });
  }
  stream.end(bytesOf(way));
  for await (const piece of stream) text += (piece as Buffer).toString("latin1");
  session.destroy();
  return text;
}

const options: Partial<ServeOptions> = {
  auth: {
    schemes: {
      login: basic({ verify: (name) => name }),
      key: apiKey({ in: "header", name: "X-Key", verify: (key) => key.startsWith("k") && key }),
      parameter: apiKey({ in: "query", name: "key", verify: (key) => key }),
      cookie: apiKey({ in: "cookie", name: "key", verify: (key) => key }),
    },
  },
};
const login = (name: string): string => `Basic ${Buffer.from(`${name}:x`).toString("base64")}`;

let server: Server;
let owners: string[] = [];
const start = (more: Partial<ServeOptions>): Promise<Server> =>
  serve({
    ...{ card, port: 0, logger: false, drainMs: 0, versions: ["1.0", "0.3", "0.2", "0.1"] },
    bindings: ["JSONRPC", "HTTP+JSON", "GRPC", "CONNECT"],
    async agent({ principal }) {
      owners.push(principal.owner);
      return reply("welcome");
    },
    ...more,
  });
beforeAll(async () => {
  server = await start(options);
});
afterAll(() => server.close());

const alice = ["authorization", login("alice")] as const;
const bob = ["Authorization", login("bob")] as const;

interface Pair {
  readonly lines: Lines;
  readonly query?: string;
  readonly code: "400" | "401";
}

const pairs: Readonly<Record<string, Pair>> = {
  "Authorization headers": { lines: [alice, bob], code: "400" },
  "Authorization headers, of which one has no credential": { lines: [alice, ["authorization", "Basic"]], code: "400" },
  "credentials in one Authorization header": {
    lines: [["authorization", `${login("alice")}, ${login("bob")}`]],
    code: "400",
  },
  "API keys in headers": {
    lines: [
      ["x-key", "k1"],
      ["X-Key", "k2"],
    ],
    code: "401",
  },
  "API keys in cookies": {
    lines: [
      ["cookie", "key=a"],
      ["cookie", "key=b"],
    ],
    code: "401",
  },
  "API keys in one cookie": { lines: [["cookie", "key=a; key=b"]], code: "401" },
  "API keys in the query": { lines: [], query: "?key=a&key=b", code: "400" },
};

const refusals = {
  "400": /HTTP\/1\.1 400|":status":400|-32600|grpc-status[":]+ ?3/,
  "401": /HTTP\/1\.1 401|":status":401|grpc-status[":]+ ?16/,
};

describe.each(Object.entries(ways))("over %s", (name, way) => {
  const transports = name.startsWith("GRPC") ? { callHttp2 } : { callHttp1, callHttp2 };
  describe.each(Object.entries(transports))("by %s", (_, call) => {
    it.each(Object.entries(pairs))("two %s are refused", async (_, { lines, query, code }) => {
      if (query !== undefined && name.startsWith("GRPC")) return;
      owners = [];
      const text = await call(server.port, way, lines, query);
      expect(text).toMatch(refusals[code]);
      expect(text.replaceAll("%20", " ")).toMatch(/several (authorization headers that differ|values|keys)/);
      expect(owners).toEqual([]);
    });

    it("the same credential sent twice counts as one", async () => {
      owners = [];
      const text = await call(server.port, way, [alice, alice]);
      expect(text).not.toMatch(/several|HTTP\/1\.1 4|":status":4|grpc-status[":]+ ?16/);
      owners = [];
      expect(
        await call(server.port, way, [
          ["x-key", "k1"],
          ["x-key", "k1"],
        ]),
      ).not.toMatch(/several/);
    });
  });
});

describe("with `authenticate`", () => {
  it.each(Object.entries(ways))(
    "two Authorization headers are refused over %s before authenticate is called",
    async (name, way) => {
      let calls = 0;
      await using own = await start({
        authenticate({ header }) {
          calls += 1;
          return { owner: header("authorization") ?? "" };
        },
      });
      const text = await (name.startsWith("GRPC") ? callHttp2 : callHttp1)(own.port, way, [alice, bob]);
      expect(text).toMatch(refusals["400"]);
      expect(calls).toBe(0);
    },
  );
});

it("a request of a Fetch API with two credentials is refused", async () => {
  await using agent = await createAgent({ card, agent: async () => reply("welcome"), logger: false, ...options });
  const headers = new Headers([["content-type", "application/json"], ["a2a-version", "1.0"], [...alice], [...bob]]);
  const request = { method: "POST", headers, body: JSON.stringify({ message }) };
  const answer = await agent.fetch()(new Request("http://127.0.0.1/http-json/message:send", request));
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("several authorization headers")]);
});

it("headers of a call in one process that two spellings give two values are refused", async () => {
  const headers = { authorization: login("alice"), Authorization: login("bob") };
  await expect(server.inProcess().sendMessage(say("hello"), { headers })).rejects.toThrow("in two spellings");
});
