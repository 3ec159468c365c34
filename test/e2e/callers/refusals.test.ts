import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { reply, type Server, serve } from "trivium";
import { apiKey } from "trivium/auth";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

// What a caller that is refused gets, as it is on the wire.

const skill = { id: "book", name: "Book", description: "Books a berth", tags: ["berth"] };
const card = { name: "Harbour", description: "Books berths", version: "1.0.0", skills: [skill] };
const metadata = { skillId: "book" };
const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }], metadata };
const kinded = { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "x" }], metadata };
const typed = { role: "user", parts: [{ type: "text", text: "x" }], metadata };
const content = { request: { messageId: "m", role: "ROLE_USER", content: [{ text: "x" }], metadata } };
const rpc = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params });

interface Way {
  readonly path: string;
  readonly body: object;
  readonly version?: string;
}

const ways: Readonly<Record<string, Way>> = {
  "JSONRPC 1.0": { path: "/json-rpc", version: "1.0", body: rpc("SendMessage", { message }) },
  "JSONRPC 1.0, a stream": { path: "/json-rpc", version: "1.0", body: rpc("SendStreamingMessage", { message }) },
  "JSONRPC 0.3": { path: "/json-rpc", version: "0.3", body: rpc("message/send", { message: kinded }) },
  "JSONRPC 0.2": { path: "/json-rpc", body: rpc("message/send", { message: kinded }) },
  "JSONRPC 0.1": { path: "/json-rpc", body: rpc("tasks/send", { id: "t", message: typed }) },
  "HTTP+JSON 1.0": { path: "/http-json/message:send", version: "1.0", body: { message } },
  "HTTP+JSON 1.0, a stream": { path: "/http-json/message:stream", version: "1.0", body: { message } },
  "HTTP+JSON 0.3": { path: "/http-json/v1/message:send", version: "0.3", body: content },
  "CONNECT 1.0": { path: "/lf.a2a.v1.A2AService/SendMessage", version: "1.0", body: { message } },
  "CONNECT 0.3": { path: "/a2a.v1.A2AService/SendMessage", version: "0.3", body: content },
};

let server: Server;
let runs = 0;
beforeAll(async () => {
  server = await serve({
    card,
    port: 0,
    logger: false,
    bindings: ["JSONRPC", "HTTP+JSON", "GRPC", "CONNECT"],
    versions: ["1.0", "0.3", "0.2", "0.1"],
    auth: {
      schemes: { key: apiKey({ in: "header", name: "x-key", verify: (key) => key === "k" && "robot" }) },
      skills: { book: [{ key: ["berths"] }] },
    },
    async agent() {
      runs += 1;
      return reply("welcome");
    },
  });
});
afterAll(() => server.close());

const challenge = 'ApiKey in="header", name="x-key"';

describe.each(Object.entries(ways))("over %s", (_, { path, version, body }) => {
  it.each([
    ["no credential", {}, 401, challenge],
    ["a wrong one", { "x-key": "x" }, 401, challenge],
    ["one without a scope", { "x-key": "k" }, 403, 'Bearer error="insufficient_scope", scope="berths"'],
  ])("a call with %s gets the status and the challenge", async (_, own, status, shown) => {
    const declared = version === undefined ? {} : { "a2a-version": version };
    const headers = { "content-type": "application/json", ...declared, ...own };
    const answer = await fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([status, shown]);
    await answer.body?.cancel();
    expect(runs).toBe(0);
  });
});

describe("a call whose body never comes is refused at once", () => {
  const service = "/lf.a2a.v1.A2AService";

  it.each([
    ["/json-rpc", "application/json", /^HTTP\/1\.1 401 /],
    ["/http-json/message:send", "application/json", /^HTTP\/1\.1 401 /],
    ["/http-json/message:stream", "application/json", /^HTTP\/1\.1 401 /],
    [`${service}/SendMessage`, "application/json", /^HTTP\/1\.1 401 /],
    [`${service}/SendMessage`, "application/proto", /^HTTP\/1\.1 401 /],
    [`${service}/SendMessage`, "application/grpc-web+proto", /grpc-status: 16/],
    [`${service}/SendStreamingMessage`, "application/connect+json", /"code":"unauthenticated"/],
  ])("a call whose body never comes is refused at once at %s as %s", async (path, type, expected) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const socket = connect(server.port, "127.0.0.1");
    let text = "";
    socket.on("error", reject).on("data", (bytes) => {
      text += bytes.toString("latin1");
      if (expected.test(text)) resolve(text);
    });
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nContent-Type: ${type}\r\nA2A-Version: 1.0\r\nContent-Length: 999\r\n\r\n`,
    );
    expect(await promise).toMatch(expected);
    socket.destroy();
  });

  it.each(["SendMessage", "SendStreamingMessage"])(
    "a call whose body never comes is refused at once for %s over gRPC",
    async (method) => {
      const session = connectHttp2(`http://127.0.0.1:${server.port}`);
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const call = session.request({
        ...{ ":method": "POST", ":path": `${service}/${method}`, te: "trailers" },
        ...{ "content-type": "application/grpc", "a2a-version": "1.0" },
      });
      call.on("response", (headers) => resolve(headers["grpc-status"])).on("error", reject);
      expect(await promise).toBe("16");
      session.destroy();
    },
  );
});
