import { createServer } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import Koa from "koa";
import { createAgent, reply } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fetchHandler } from "../../../src/binding/http/fetch-handler.js";
import { serveHttp } from "../../support/http-agent.js";
import { type ServedAgent, startAgent } from "../../support/serve-agent.js";

let served: ServedAgent;
let port: number;
const card = { name: "Tested", description: "Does what the test says", version: "1.0.0" };
const agent = async () => reply("hi");

beforeAll(async () => {
  served = await startAgent("JSONRPC", { agent, allowedHosts: ["a.example"] });
  port = Number(new URL(served.server.url).port);
});
afterAll(() => served[Symbol.asyncDispose]());

/** The status line of the answer to a GET with these header lines. */
async function statusLine(at: number, path: string, lines: readonly string[]): Promise<string> {
  const socket = connect(at, "127.0.0.1");
  socket.end(
    ["GET ", path, " HTTP/1.1\r\n", ...lines.map((line) => `${line}\r\n`), "Connection: close\r\n\r\n"].join(""),
  );
  let text = "";
  for await (const piece of socket) text += String(piece);
  return text.split("\r\n", 1)[0] ?? "";
}

const twice = [
  ["Host: a.example", "Host: b.example"],
  ["Host: a.example", "host: a.example"],
  ["HOST: a.example", "X: y", "hOsT: b.example"],
];
const paths = ["/.well-known/agent-card.json", "/http-json/tasks", "/healthz", "/nowhere"];

describe("a request over HTTP/1.1", () => {
  it.each(paths.flatMap((path) => twice.map((lines) => [path, lines] as const)))(
    "an HTTP/1.1 request for %s with two Host headers is refused: %j",
    async (path, lines) => {
      expect(await statusLine(port, path, lines)).toBe("HTTP/1.1 400 Bad Request");
    },
  );

  it("an HTTP/1.1 request with one Host header is answered, even if other headers repeat or look alike", async () => {
    const lines = ["Host: a.example", "Accept: a/b", "Accept: c/d", "Hosts: x", "X-Host: y"];
    expect(await statusLine(port, "/.well-known/agent-card.json", lines)).toBe("HTTP/1.1 200 OK");
  });

  it.each(paths)("an HTTP/1.1 request for %s whose target is a URL at another host is refused", async (path) => {
    for (const target of [`http://b.example${path}`, `http://a.example:81${path}`]) {
      expect(await statusLine(port, target, ["Host: a.example"])).toBe("HTTP/1.1 400 Bad Request");
    }
  });

  it("an HTTP/1.1 request whose target is a URL at its own host is answered", async () => {
    const target = "http://A.example:80/.well-known/agent-card.json";
    expect(await statusLine(port, target, ["Host: a.example"])).toBe("HTTP/1.1 200 OK");
  });

  it("an HTTP/1.1 request with two Host headers is also refused by a mounted agent", async () => {
    await using mounted = await createAgent({ card, agent, allowedHosts: ["a"] });
    const app = new Koa().use(await mounted.koa());
    await using node = await serveHttp(createServer(mounted.nodeListener()));
    await using koa = await serveHttp(createServer(app.callback()));
    for (const server of [node, koa]) {
      expect(await statusLine(server.port, "/.well-known/agent-card.json", ["Host: a", "Host: b"])).toMatch(/ 400 /);
      expect(await statusLine(server.port, "/.well-known/agent-card.json", ["Host: a"])).toMatch(/ 200 /);
    }
  });
});

describe("a request over HTTP/2", () => {
  const status = async (headers: Record<string, string>): Promise<unknown> => {
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    const stream = session.request({ ":path": "/.well-known/agent-card.json", ...headers });
    const [answered] = await new Promise<[Record<string, unknown>]>((resolve, reject) => {
      stream.on("response", (got) => resolve([got]));
      stream.on("error", reject);
    });
    stream.close();
    session.close();
    return answered[":status"];
  };

  it.each([
    [{ ":authority": "a.example", host: "b.example" }, 400],
    [{ ":authority": "a.example", host: "A.example" }, 200],
    [{ ":authority": "a.example" }, 200],
  ] as const)("an HTTP/2 request with %j gets %i", async (headers, wanted) => {
    expect(await status({ ...headers })).toBe(wanted);
  });
});

it("a Fetch request that lists two hosts is refused", async () => {
  const handle = fetchHandler(() => ({ status: 200, headers: {}, body: "ok" }));
  const answer = (host: string) => handle(new Request("http://a.example/", { headers: { Host: host } }));
  expect([(await answer("a.example, b.example")).status, (await answer("a.example")).status]).toEqual([400, 200]);
});
