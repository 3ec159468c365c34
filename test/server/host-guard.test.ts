import { createServer } from "node:http";
import { connect, type OutgoingHttpHeaders } from "node:http2";
import Koa from "koa";
import { type AgentServer, createAgent, gateway, reply, type ServeOptions, serve } from "trivium";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bindingNames } from "../../src/protocol/bindings.js";
import { frame, rawSession } from "../support/grpc-raw.js";
import { serveHttp } from "../support/http-agent.js";
import { wireTo } from "../support/http-calls.js";
import { type HttpAnswer, type HttpAsk, httpLine, json } from "../support/raw-http.js";

// An agent on a loopback address without `authenticate`, and web pages that try to call it.

const foreign = "attacker.example:41241";
const page = "http://attacker.example:41241";
let turns = 0;
let visits = 0;
let server: AgentServer;

const agentOptions = {
  card: { name: "Near", description: "Is of this machine", version: "1" },
  bindings: bindingNames,
  agent: async () => {
    turns++;
    return reply("done");
  },
} satisfies Partial<ServeOptions>;

function start(options: Partial<ServeOptions> = {}): Promise<AgentServer> {
  const app = new Koa().use((ctx) => {
    visits++;
    ctx.body = "the app";
  });
  return serve({ ...agentOptions, port: 0, drainMs: 0, app, ...options });
}

beforeAll(async () => {
  server = await start();
});
afterAll(() => server.close());
beforeEach(() => {
  turns = 0;
  visits = 0;
});

const params = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] } };
const rpc = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params });
const service = "/lf.a2a.v1.A2AService";
const streamed = frame(Buffer.from(JSON.stringify(params)));

interface Row {
  readonly name: string;
  readonly ask: HttpAsk;
  /** The expected form of an error. */
  readonly form: RegExp;
  /** Whether the protocol reports errors in the body of a 200 response. */
  readonly saysInBody?: boolean;
}

const plain = /^[^{]+\n$/;
const rows: readonly Row[] = [
  {
    name: "JSON-RPC",
    ask: { target: "/json-rpc", headers: json, body: rpc },
    form: /^\{"jsonrpc":"2\.0","id":null,"error":\{"code":-3\d{4},/,
  },
  { name: "JSON-RPC at the root", ask: { target: "/", headers: json, body: rpc }, form: /^\{"jsonrpc":"2\.0"/ },
  {
    name: "HTTP+JSON",
    ask: { method: "GET", target: "/http-json/tasks" },
    form: /^\{"error":\{"code":403,"status":"PERMISSION_DENIED",/,
  },
  {
    name: "Connect",
    ask: { target: `${service}/SendMessage`, headers: json, body: JSON.stringify(params) },
    form: /^\{"code":"permission_denied",/,
  },
  {
    name: "a stream of Connect",
    ask: {
      target: `${service}/SendStreamingMessage`,
      headers: { "Content-Type": "application/connect+json" },
      body: streamed,
    },
    form: /\{"error":\{"code":"permission_denied",/,
    saysInBody: true,
  },
  {
    name: "gRPC-Web",
    ask: {
      target: `${service}/SendMessage`,
      headers: { "Content-Type": "application/grpc-web+json" },
      body: streamed,
    },
    form: /grpc-message:/,
    saysInBody: true,
  },
  { name: "the card", ask: { method: "GET", target: "/.well-known/agent-card.json" }, form: plain },
  {
    name: "the extended card of 0.3",
    ask: { method: "GET", target: "/agent/authenticatedExtendedCard" },
    form: /^\{"error":"/,
  },
  { name: "a preflight", ask: { method: "OPTIONS", target: "/json-rpc" }, form: plain },
  { name: "a wrong method", ask: { method: "PUT", target: "/json-rpc", headers: json, body: rpc }, form: plain },
  { name: "the app", ask: { method: "GET", target: "/private" }, form: plain },
  { name: "a health check that is none", ask: { target: "/healthz" }, form: plain },
];

const ask = async (request: HttpAsk, headers: Readonly<Record<string, string>>, port = server.port) => {
  using line = httpLine(port);
  return await line.ask({ ...request, headers: { ...request.headers, ...headers } });
};

/** Sends the request over HTTP/2. */
function ask2(request: HttpAsk, headers: OutgoingHttpHeaders): Promise<Pick<HttpAnswer, "status" | "text">> {
  const session = connect(server.url);
  const { method = "POST", target, body } = request;
  return new Promise((resolve, reject) => {
    session.on("error", reject);
    const own = Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
    const stream = session.request({ ":method": method, ":path": target, ...Object.fromEntries(own), ...headers });
    let status = 0;
    let text = "";
    stream.on("response", (received) => {
      status = Number(received[":status"]);
    });
    stream.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
    stream.on("error", reject);
    stream.on("close", () => {
      session.destroy();
      resolve({ status, text });
    });
    stream.end(body);
  });
}

describe.each(rows)("$name", ({ ask: request, form, saysInBody = false }) => {
  const expectRefused = ({ status, text }: Pick<HttpAnswer, "status" | "text">, wanted: number): void => {
    expect(status).toBe(saysInBody ? 200 : wanted);
    expect(text).toMatch(form);
    expect(decodeURIComponent(text)).toMatch(
      wanted === 421 ? /host \\?"attacker\.example:41241\\?".+allowedHosts/ : /origin \\?"\S+\\?".+cors/,
    );
    expect([turns, visits]).toEqual([0, 0]);
  };

  it("a call to a host that is not of this machine is refused", async () => {
    expectRefused(await ask(request, { Host: foreign }), 421);
    expectRefused(await ask(request, { Host: foreign, Origin: page }), 421);
  });

  it("a call over HTTP/2 to a host that is not of this machine is refused", async () => {
    expectRefused(await ask2(request, { ":authority": foreign }), 421);
    // A request that names two hosts is refused before either is checked.
    expect((await ask2(request, { ":authority": foreign, host: "localhost" })).status).toBe(400);
  });

  it.each([page, "null", "http://localhost:1", "https://localhost"])(
    "a call of a page of the origin %s is refused",
    async (origin) => {
      expectRefused(await ask(request, { Origin: origin }), 403);
      expectRefused(await ask2(request, { origin }), 403);
    },
  );

  it("callers of this machine, and the agent's own pages, are answered", async () => {
    for (const host of [`localhost:${server.port}`, "a.localhost", "127.9.9.9", "[::1]:80", "LOCALHOST."]) {
      for (const headers of [{ Host: host }, { Host: host, Origin: `http://${host.toLowerCase()}` }]) {
        const { status } = await ask(request, headers);
        expect([421, 403]).not.toContain(status);
      }
    }
    expect([421, 403]).not.toContain((await ask2(request, { origin: server.url })).status);
  });
});

const tasks: HttpAsk = { method: "GET", target: "/http-json/tasks" };
const statusOf = async (request: HttpAsk, headers: Readonly<Record<string, string>>, port?: number) =>
  (await ask(request, headers, port)).status;

it("hosts that are none, and upgrades at a foreign host, are refused like foreign hosts", async () => {
  for (const host of ["localhost@attacker.example", "localhost/x", "0.0.0.0", "localhost.attacker.example"]) {
    expect([host, await statusOf(tasks, { Host: host })]).toEqual([host, 421]);
  }
  for (const head of ["HTTP/1.1\r\nHost: \r\nConnection: close", "HTTP/1.0"]) {
    const { socket, whenClosed: closed } = wireTo(server.port);
    socket.write(`GET /http-json/tasks ${head}\r\n\r\n`);
    expect(await closed).toMatch(/^HTTP\/1\.1 421 /);
  }
  const upgrade = { Host: foreign, Connection: "Upgrade", Upgrade: "websocket" };
  expect(await statusOf({ method: "GET", target: "/private" }, upgrade)).toBe(421);
});

it("health checks are answered to every host and origin", async () => {
  for (const target of ["/healthz", "/readyz?x"]) {
    expect(await statusOf({ method: "GET", target }, { Host: foreign, Origin: page })).toBe(200);
  }
});

it("the host of publicUrl and allowed hosts are answered, with pages of publicUrl", async () => {
  await using open = await start({
    publicUrl: "https://agents.example/near",
    allowedHosts: ["mesh.example", "*.svc.example", "10.1.0.0/16"],
  });
  const hosts = ["agents.example", "agents.example:8443", "mesh.example", "near.svc.example:80", "10.1.2.3"];
  for (const host of hosts) expect([host, await statusOf(tasks, { Host: host }, open.port)]).toEqual([host, 200]);
  for (const host of ["svc.example", "10.2.0.1", foreign]) {
    expect([host, await statusOf(tasks, { Host: host }, open.port)]).toEqual([host, 421]);
  }
  expect(await statusOf(tasks, { Origin: "https://agents.example" }, open.port)).toBe(200);
  expect(await statusOf(tasks, { Host: "mesh.example", Origin: "https://mesh.example" }, open.port)).toBe(200);
  expect(await statusOf(tasks, { Host: "mesh.example", Origin: "https://mesh.example:1" }, open.port)).toBe(403);
});

it("pages that cors lists may call, and others may not", async () => {
  await using listed = await start({ cors: { origins: ["https://app.example"] } });
  const preflight = { Origin: "https://app.example", "Access-Control-Request-Method": "POST" };
  const granted = await ask({ method: "OPTIONS", target: "/json-rpc" }, preflight, listed.port);
  expect([granted.status, granted.headers["access-control-allow-origin"]]).toEqual([204, "https://app.example"]);
  expect(await statusOf(tasks, { Origin: "https://app.example" }, listed.port)).toBe(200);
  expect(await statusOf(tasks, { Origin: page }, listed.port)).toBe(403);
  expect(await statusOf(tasks, { Host: foreign, Origin: "https://app.example" }, listed.port)).toBe(421);
  await using any = await start({ cors: { origins: "*" } });
  expect(await statusOf(tasks, { Origin: "null" }, any.port)).toBe(200);
});

it("an agent with authenticate, served or mounted, checks no hosts", async () => {
  const authenticate = () => ({ owner: "ada" });
  await using asking = await start({ authenticate });
  expect(await statusOf(tasks, { Host: foreign, Origin: page }, asking.port)).toBe(200);
  await using mounted = await createAgent({ ...agentOptions, authenticate });
  await using http = await serveHttp(createServer(mounted.nodeListener()));
  expect(await statusOf(tasks, { Host: foreign, Origin: page }, Number(new URL(http.url).port))).toBe(200);
});

it("allowed hosts that are no host names fail at startup", async () => {
  await expect(start({ allowedHosts: ["agents.example:8080"] })).rejects.toThrow(
    /^allowedHosts: "agents\.example:8080"/,
  );
});

describe.each([{}, { grpcPort: 0 }])("gRPC with %j", (own) => {
  const body = frame(new Uint8Array());
  const call = async (headers: OutgoingHttpHeaders) => {
    await using near = await start(own);
    using session = rawSession(near.grpcPort);
    return await session.call("ListTasks", body, headers);
  };

  it("gRPC is answered for every authority, since sidecars choose it", async () => {
    expect((await call({ ":authority": "agents.svc.cluster.local" })).status).toBe(0);
    expect((await call({ origin: "http://localhost", ":authority": "localhost" })).status).toBe(0);
  });

  it.each([
    [{ origin: page }, /origin "\S+" may not call/],
    [{ origin: page, ":authority": foreign }, /host "attacker\.example:41241" is not served.+allowedHosts/],
  ])("a gRPC call with %j is refused", async (headers, message) => {
    const { status, headers: responseHeaders } = await call(headers);
    expect(status).toBe(7);
    expect(decodeURIComponent(String(responseHeaders["grpc-message"]))).toMatch(message);
  });
});

it("a gateway of this machine lends its credentials to no page", async () => {
  const shown: (string | undefined)[] = [];
  await using behind = await start({
    authenticate: ({ header }) => {
      shown.push(header("authorization"));
      return { owner: "gateway" };
    },
  });
  await using front = await gateway({
    upstream: behind.url,
    client: { headers: { authorization: "Bearer mine" } },
    port: 0,
    drainMs: 0,
    allowedHosts: ["front.example"],
  });
  shown.length = 0;
  expect(await statusOf(tasks, { Host: foreign, Origin: page }, front.port)).toBe(421);
  expect(await statusOf(tasks, { Origin: page }, front.port)).toBe(403);
  expect(shown).toEqual([]);
  expect(await statusOf(tasks, { Host: "front.example" }, front.port)).toBe(200);
  expect(shown).toContain("Bearer mine");
});
