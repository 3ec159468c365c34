import { describe, expect, it } from "vitest";
import { jsonRpcEndpoint } from "../../../src/binding/json-rpc/server.js";
import type { Service } from "../../../src/binding/service.js";
import { A2AError } from "../../../src/protocol/errors.js";
import { echo, inPlace, serviceOf } from "../../support/echo-service.js";
import { bareSocket, httpAgent, postJson, rawCall } from "../../support/http-agent.js";

const params = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] } };
const call = (id: unknown, method = "SendMessage"): object => ({ jsonrpc: "2.0", id, method, params });

async function agent(changes: Partial<Service> = {}) {
  const called: string[] = [];
  const service = serviceOf(
    {
      sendMessage: async (request) => {
        called.push(request.message?.messageId ?? "");
        return echo(request);
      },
    },
    changes,
  );
  return Object.assign(await httpAgent(service), { called });
}

describe("the envelope", () => {
  it.each([
    { id: 1, text: "1" },
    { id: 'a\u2028"b', text: '"a\u2028\\"b"' },
    { id: null, text: "null" },
    { id: 1.5, text: "1.5" },
    { id: -0.25, text: "-0.25" },
  ])("the JSON-RPC server echoes the id $text", async ({ id }) => {
    await using served = await agent();
    const { status, text } = await postJson(`${served.url}/json-rpc`, call(id));
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ jsonrpc: "2.0", id, result: { message: { messageId: "reply" } } });
  });

  it("the JSON-RPC server echoes an id that a double cannot hold digit by digit", async () => {
    await using served = await agent();
    const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "SendMessage", params: { ...params, x: { id: 5 } } });
    const { text } = await postJson(`${served.url}/json-rpc`, body.replace('"id":7', '"id":12345678901234567891'));
    expect(text).toContain('"id":12345678901234567891,');
  });

  // Requirements: V1-ERR-24
  it.each([
    { what: "no JSON", body: "{", code: -32700, id: null },
    { what: "an empty body", body: "", code: -32700, id: null },
    { what: "null", body: "null", code: -32600, id: null },
    { what: "a string", body: '"x"', code: -32600, id: null },
    { what: "an empty batch", body: "[]", code: -32600, id: null },
    { what: "a batch", body: JSON.stringify([call(1)]), code: -32600, id: null },
    { what: "a notification", body: { jsonrpc: "2.0", method: "SendMessage", params }, code: -32600, id: null },
    { what: "an id that is an object", body: call({}), code: -32600, id: null },
    { what: "an id that is true", body: call(true), code: -32600, id: null },
    { what: "another version of JSON-RPC", body: { ...call(3), jsonrpc: "1.0" }, code: -32600, id: 3 },
    { what: "a method that is a number", body: { ...call(3), method: 7 }, code: -32600, id: 3 },
    { what: "an unknown method", body: call(3, "Nope"), code: -32601, id: 3 },
    { what: "a method named as a member of every object", body: call(3, "__proto__"), code: -32601, id: 3 },
    { what: "params in a list", body: { ...call(3), params: [1] }, code: -32602, id: 3 },
    { what: "missing params", body: { jsonrpc: "2.0", id: 3, method: "SendMessage" }, code: -32602, id: 3 },
    {
      what: "a body that is nested too deep",
      body: `{"jsonrpc":"2.0","id":3,"method":"SendMessage","params":{"metadata":${'{"a":'.repeat(9000)}1${"}".repeat(9001)}}`,
      code: -32602,
      id: 3,
    },
  ])("the JSON-RPC server refuses $what with $code", async ({ body, code, id }) => {
    await using served = await agent();
    const { status, headers, text } = await postJson(`${served.url}/json-rpc`, body);
    expect({ status, type: headers["content-type"] }).toEqual({ status: 200, type: "application/json" });
    expect(JSON.parse(text)).toMatchObject({ jsonrpc: "2.0", id, error: { code } });
    expect(served.called).toEqual([]);
  });

  // Requirements: V1-HTTP-9
  it("the JSON-RPC server refuses bytes that are not UTF-8", async () => {
    await using served = await agent();
    const body = Buffer.from(JSON.stringify(call(1)).replace("hi", "h\u00ff"), "latin1");
    const reply = await rawCall(`${served.url}/json-rpc`, { headers: { "Content-Type": "application/json" }, body });
    expect(JSON.parse(reply.text)).toMatchObject({ id: null, error: { code: -32700 } });
  });
});

describe("the door", () => {
  // Requirements: V1-RPC-2
  it.each([
    { header: "text/plain" },
    { header: "application/x-www-form-urlencoded" },
    { header: "multipart/form-data; boundary=x" },
    { header: "application/jsonx" },
    { header: "" },
  ])("the JSON-RPC server never executes a body of type '$header'", async ({ header }) => {
    await using served = await agent();
    const headers: Record<string, string> = header === "" ? {} : { "Content-Type": header };
    const { status, text } = await rawCall(`${served.url}/json-rpc`, { headers, body: JSON.stringify(call(1)) });
    expect(status).toBe(415);
    const data = [{ reason: "CONTENT_TYPE_NOT_SUPPORTED" }];
    const message = expect.stringMatching(/^Incompatible content types: .* \(accepted: application\/json, /);
    expect(JSON.parse(text)).toMatchObject({ id: null, error: { code: -32005, message, data } });
    expect(served.called).toEqual([]);
  });

  it.each(["application/json; charset=utf-8", "Application/JSON", "application/a2a+json"])(
    "the JSON-RPC server takes %s",
    async (type) => {
      await using served = await agent();
      const { text } = await postJson(`${served.url}/json-rpc`, call(1), { "Content-Type": type });
      expect(JSON.parse(text)).toHaveProperty("result");
    },
  );

  it("the JSON-RPC server refuses a body in an encoding other than gzip, and says which it accepts", async () => {
    await using served = await agent();
    const { status, text } = await postJson(`${served.url}/json-rpc`, call(1), { "Content-Encoding": "br" });
    expect(status).toBe(415);
    expect(text).toContain("accepted: gzip, identity");
  });

  it("the JSON-RPC server answers an unauthenticated caller before any byte of the body arrives", async () => {
    await using served = await agent({
      authenticate: () => {
        throw new A2AError("unauthenticated", "who are you", { challenge: 'Bearer realm="x"\r\nEvil: 1' });
      },
    });
    const socket = await bareSocket(served.port);
    socket.write(
      "POST /json-rpc HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n",
    );
    await expect.poll(socket.receivedText).toMatch(/\r\n\r\n\{.*\}$/s);
    expect(socket.receivedText()).toMatch(/^HTTP\/1.1 401 /);
    expect(socket.receivedText()).toMatch(/\r\nWWW-Authenticate: Bearer realm="x" {2}Evil: 1\r\n/);
    expect(socket.receivedText()).toMatch(/\r\nConnection: close\r\n/);
    expect(socket.receivedText()).toContain('"id":null,"error":{"code":-32000');
    socket.destroy();
  });

  it.each([
    { code: "permissionDenied", status: 403 },
    { code: "unavailable", status: 503 },
    { code: "resourceExhausted", status: 429 },
    { code: "taskNotFound", status: 200 },
    { code: "internalError", status: 200 },
  ] as const)("the JSON-RPC server reports $code with HTTP status $status", async ({ code, status }) => {
    await using served = await agent({
      enter: () => {
        throw new A2AError(code, "no", { retryAfterMs: 1500 });
      },
    });
    const reply = await postJson(`${served.url}/json-rpc`, call(1));
    expect({ status: reply.status, retry: reply.headers["retry-after"] }).toEqual({ status, retry: "2" });
  });

  it.each([
    { method: "GET", status: 405 },
    { method: "DELETE", status: 405 },
    { method: "OPTIONS", status: 204 },
  ])("the JSON-RPC server answers $method with $status and the allowed methods", async ({ method, status }) => {
    await using served = await agent();
    const reply = await rawCall(`${served.url}/json-rpc`, { method });
    expect({ status: reply.status, allow: reply.headers.allow }).toEqual({ status, allow: "POST, OPTIONS" });
  });

  it("the JSON-RPC server leaves other paths to others", async () => {
    await using served = await agent();
    expect((await postJson(`${served.url}/json-rpc/more`, call(1))).status).toBe(404);
    expect((await postJson(`${served.url}/json-rpc/`, call(1))).status).toBe(200);
  });

  it("the JSON-RPC server counts every call in and out once", async () => {
    const counts: number[] = [];
    await using served = await agent({
      enter: ({ streams }) => {
        expect(streams).toBe(false);
        return inPlace({ hold: (bytes) => counts.push(bytes), leave: () => counts.push(0) });
      },
    });
    const body = JSON.stringify(call(1));
    await postJson(`${served.url}/json-rpc`, body);
    await postJson(`${served.url}/json-rpc`, "{");
    expect(counts).toEqual([body.length, 0, 1, 0]);
  });
});

describe("versions and extensions", () => {
  it.each([
    { headers: {}, query: "", served: true },
    { headers: { "A2A-Version": "1.0" }, query: "", served: true },
    { headers: { "A2A-Version": "1.0.3" }, query: "", served: true },
    { headers: { "A2A-Version": "" }, query: "", served: true },
    { headers: {}, query: "?a=b&A2A-Version=1.0", served: true },
    { headers: { "A2A-Version": "1.0" }, query: "?A2A-Version=9.0", served: true },
    { headers: { "A2A-Version": "0.3" }, query: "", served: false },
    { headers: {}, query: "?a2a-version=2.0", served: false },
    { headers: { "A2A-Version": "%%%" }, query: "", served: false },
  ])("a JSON-RPC request with $headers $query is served: $served", async ({ headers, query, served: isServed }) => {
    await using served = await agent();
    const { text } = await postJson(`${served.url}/json-rpc${query}`, call(8), { ...headers });
    const wanted = isServed ? { id: 8, result: {} } : { id: 8, error: { code: -32009 } };
    expect(JSON.parse(text)).toMatchObject(wanted);
  });

  it("the JSON-RPC server requires a version in strict mode", async () => {
    await using served = await agent({ strictVersions: true });
    expect(JSON.parse((await postJson(`${served.url}/json-rpc`, call(8))).text)).toMatchObject({
      error: { code: -32009 },
    });
  });

  it("the JSON-RPC server names the extensions that it activated", async () => {
    await using served = await agent();
    const headers = { "A2A-Extensions": "urn:known:a, urn:other" };
    expect((await postJson(`${served.url}/json-rpc`, call(8), headers)).headers["a2a-extensions"]).toBe("urn:known:a");
    expect((await postJson(`${served.url}/json-rpc`, call(8))).headers).not.toHaveProperty("a2a-extensions");
  });

  it("the JSON-RPC server names the required extension that a request lacks, in its response", async () => {
    await using served = await agent({
      extensions: () => {
        throw new A2AError("extensionSupportRequired", "urn:needed is required");
      },
    });
    const { status, text } = await postJson(`${served.url}/json-rpc`, call(8));
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ id: 8, error: { code: -32008 } });
  });

  it("a JSON-RPC server without a version to speak is refused", () => {
    expect(() => jsonRpcEndpoint({ adapters: [], service: serviceOf({}) })).toThrow(TypeError);
  });
});

// Requirements: V1-ERR-13
it("the JSON-RPC server shows nothing of what broke inside", async () => {
  await using served = await httpAgent(serviceOf({ sendMessage: () => Promise.reject(new Error("secret")) }));
  const { status, text } = await postJson(`${served.url}/json-rpc`, call(1));
  expect(status).toBe(200);
  expect(JSON.parse(text)).toMatchObject({ id: 1, error: { code: -32603, message: "internal error" } });
  expect(text).not.toContain("secret");
});
