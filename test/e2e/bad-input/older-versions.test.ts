import type { JsonObject } from "@bufbuild/protobuf";
import { reply } from "trivium";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { brokenBodies } from "../../support/broken-bodies.js";
import { type HttpAnswer, type HttpLine, httpLine, json } from "../../support/raw-http.js";
import { expectNoInternals } from "../../support/raw-wire.js";
import { type ServedAgent, startAgent } from "../../support/serve-agent.js";

// Invalid requests of older versions. Each is answered in the form of its version, none is executed, and the connection
// serves the next request.

let served: ServedAgent;
let line: HttpLine;
let turns = 0;

beforeAll(async () => {
  served = await startAgent("JSONRPC", {
    agent: async () => {
      turns++;
      return reply("done");
    },
  });
  line = httpLine(served.server.port);
});

afterAll(async () => {
  line[Symbol.dispose]();
  await served[Symbol.asyncDispose]();
});

beforeEach(() => {
  turns = 0;
});

interface ParsedAnswer {
  readonly id: unknown;
  readonly code: unknown;
  readonly message: unknown;
}

/** Parses an answer over JSON-RPC as a client of that version does: an error has a code and a message, nothing else. */
function parseAnswer(answer: HttpAnswer): ParsedAnswer {
  expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/json"]);
  expectNoInternals(answer.text);
  const { jsonrpc, id, result, error } = JSON.parse(answer.text) as Record<string, JsonObject | undefined>;
  expect(jsonrpc).toBe("2.0");
  if (error === undefined) {
    expect(result).toEqual(expect.any(Object));
    return { id, code: undefined, message: undefined };
  }
  expect(result).toBeUndefined();
  expect(error).toEqual({ code: expect.any(Number), message: expect.stringMatching(/./) });
  return { id, code: error["code"], message: error["message"] };
}

const kindMessage = { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "hello" }] };
const typeMessage = { role: "user", parts: [{ type: "text", text: "hello" }] };

const dialects = [
  { name: "0.3", method: "message/send", good: { message: kindMessage }, headers: { "A2A-Version": "0.3" } },
  { name: "0.3 undeclared", method: "message/send", good: { message: kindMessage }, headers: {} },
  { name: "0.2", method: "message/send", good: { message: kindMessage }, headers: { "A2A-Version": "0.2" } },
  { name: "0.1", method: "tasks/send", good: { id: "mine", message: typeMessage }, headers: {} },
] as const;

describe.each(dialects)("JSON-RPC of $name", ({ method, good, headers }) => {
  const call = (params: unknown, id: unknown = 1): string => JSON.stringify({ jsonrpc: "2.0", id, method, params });
  const post = async (body: string | Uint8Array): Promise<ParsedAnswer> =>
    parseAnswer(await line.ask({ target: "/json-rpc", headers: { ...json, ...headers }, body }));
  const expectServes = async (): Promise<void> => {
    turns = 0;
    const params = method === "tasks/send" ? { ...good, id: crypto.randomUUID() } : good;
    expect(await post(call(params, "next"))).toMatchObject({ id: "next", code: undefined });
    expect(turns).toBe(1);
  };

  // Requirements: V03-RPC-1, V03-RPC-7
  it.each(brokenBodies)("an older version over JSON-RPC refuses a body of %s", async (_, spoil) => {
    const answer = await post(spoil(call(good)));
    expect([-32700, -32600, -32602, -32601]).toContain(answer.code);
    expect(turns).toBe(0);
    await expectServes();
  });

  // Requirements: V03-RPC-4, V03-RPC-11, V03-MSG-2, V03-MSG-4, V03-ERR-4
  it.each<[what: string, params: unknown, names: RegExp]>([
    ["no params", undefined, /message/],
    ["params of null", null, /message/],
    ["a list of params", [good], /./],
    ["params that are text", "x", /./],
    ["no message", { ...good, message: undefined }, /message/],
    ["a message that is a list", { ...good, message: [] }, /message/],
    ["no parts", { ...good, message: { ...good.message, parts: [] } }, /parts/],
    ["parts that are text", { ...good, message: { ...good.message, parts: "x" } }, /parts/],
    ["a part of no kind that there is", { ...good, message: { ...good.message, parts: [{ kind: "sound" }] } }, /parts/],
    ["a part without its text", { ...good, message: { ...good.message, parts: [{ kind: "text" }] } }, /parts/],
    [
      "a part with a number as text",
      { ...good, message: { ...good.message, parts: [{ kind: "text", text: 1 }] } },
      /text/,
    ],
    ["a role that is none", { ...good, message: { ...good.message, role: "boss" } }, /role/],
    [
      "a file of bytes that are no base64",
      { ...good, message: { ...good.message, parts: [{ kind: "file", type: "file", file: { bytes: "%%%" } }] } },
      /bytes/,
    ],
    ["data that is text", { ...good, message: { ...good.message, parts: [{ kind: "data", data: 7 }] } }, /data/],
    ["metadata that is a list", { ...good, metadata: [] }, /metadata/],
  ])("an older version over JSON-RPC refuses %s, and names the fault", async (_, params, names) => {
    const answer = await post(call(params));
    expect([answer.id, answer.code]).toEqual([1, -32602]);
    expect(answer.message).toMatch(names);
    expect(turns).toBe(0);
    await expectServes();
  });

  // Requirements: V03-RPC-6
  it.each(["message/sent", "tasks/", "tasks/list", "", "constructor", "__proto__"])(
    "an older version over JSON-RPC knows no method %j",
    async (unknown) => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: unknown, params: good });
      expect(await post(body)).toMatchObject({ id: 1, code: -32601 });
      expect(turns).toBe(0);
    },
  );

  // Requirements: V03-RPC-3, V03-RPC-10
  it("an older version over JSON-RPC refuses a batch as a whole", async () => {
    expect(await post(`[${call(good)},${call(good)}]`)).toMatchObject({ id: null, code: -32600 });
    expect(turns).toBe(0);
  });

  // Requirements: V03-RPC-3
  it("an older version over JSON-RPC answers a text id with the same id, also in an error", async () => {
    expect(await post(call({}, "seven"))).toMatchObject({ id: "seven", code: -32602 });
  });
});

// Requirements: V03-MSG-3
it.each([
  ["bytes and a URI", { bytes: "SzQ=", uri: "https://files.example/a" }],
  ["neither bytes nor a URI", { name: "a" }],
])("a file of 0.3 with %s is refused, with the field named", async (_, file) => {
  const message = { ...kindMessage, parts: [{ kind: "file", file }] };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/send", params: { message } });
  const answer = parseAnswer(await line.ask({ target: "/json-rpc", headers: json, body }));
  expect([answer.id, answer.code]).toEqual([1, -32602]);
  expect(answer.message).toMatch(/parts\[0\]\.file/);
  expect(turns).toBe(0);
});

describe("HTTP+JSON of 0.3", () => {
  const good = { message: { messageId: "m", role: "ROLE_USER", content: [{ text: "hello" }] } };
  const ask = async (target: string, body: string | Uint8Array, method = "POST"): Promise<[number, JsonObject]> => {
    const answer = await line.ask({ method, target: `/http-json${target}`, headers: json, body });
    expect(answer.headers["content-type"]).toBe("application/json");
    expectNoInternals(answer.text);
    return [answer.status, JSON.parse(answer.text) as JsonObject];
  };
  const refusal = (code: unknown) => ({
    code,
    message: expect.stringMatching(/./),
    type: expect.stringMatching(/Error$/),
    error: expect.objectContaining({ status: expect.stringMatching(/^[A-Z_]+$/) }),
  });
  const expectServes = async (): Promise<void> => {
    turns = 0;
    expect((await ask("/v1/message:send", JSON.stringify(good)))[0]).toBe(200);
    expect(turns).toBe(1);
  };

  // Requirements: V03-RPC-1, V03-RPC-7
  it.each(brokenBodies)("HTTP+JSON of 0.3 refuses a body of %s", async (_, spoil) => {
    const [status, body] = await ask("/v1/message:send", spoil(JSON.stringify(good)));
    expect(status).toBe(400);
    expect(body).toMatchObject(refusal(expect.toBeOneOf([-32700, -32600, -32602])));
    expect(turns).toBe(0);
    await expectServes();
  });

  // Requirements: V03-REST-2
  it.each([
    ["/v1/nothing", 404],
    ["/v1/", 404],
    ["/v1//tasks/x", 404],
    ["/v1/v1/message:send", 404],
    ["/v1/tasks/none", 404],
    ["/v1/tasks/%zz", 400],
    ["/v1/tasks/none/pushNotificationConfigs/none", 400],
  ])("GET %s is answered as the caller's error", async (target, status) => {
    const [got, body] = await ask(target, "", "GET");
    expect(got).toBe(status);
    expect(body).toMatchObject(refusal(expect.any(Number)));
    await expectServes();
  });
});

it("no bad request is logged as a fault", () => {
  expect(served.log.filter(({ level }) => level === "error" || level === "warn")).toEqual([]);
});
