import type { JsonObject } from "@bufbuild/protobuf";
import { reply } from "trivium";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { rpcAdapter } from "../../support/http-agent.js";
import { type HttpLine, httpLine, json } from "../../support/raw-http.js";
import { expectDetails, expectNoInternals } from "../../support/raw-wire.js";
import { type ServedAgent, startAgent } from "../../support/serve-agent.js";

// Faults of a JSON-RPC request outside its params.

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

const params = '{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}';

interface Told {
  readonly id: unknown;
  /** The id as written in the answer's text. */
  readonly idText: string | undefined;
  readonly code: string | undefined;
}

async function post(body: string): Promise<Told> {
  const answer = await line.ask({ target: "/json-rpc", headers: { ...json, "A2A-Version": "1.0" }, body });
  expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/json"]);
  expectNoInternals(answer.text);
  const reply = JSON.parse(answer.text) as JsonObject;
  expect(reply["jsonrpc"]).toBe("2.0");
  const { error } = reply;
  if (error !== undefined) expectDetails((error as JsonObject)["data"]);
  const idText = /"id":(.*?),"(?:result|error)":/s.exec(answer.text)?.[1];
  return { id: reply["id"], idText, code: error === undefined ? undefined : rpcAdapter.readError(error).code };
}

const call = (id: string, method = '"SendMessage"'): string =>
  `{"jsonrpc":"2.0","id":${id},"method":${method},"params":${params}}`;

describe("a batch is refused as a whole", () => {
  it.each([
    ["of none", "[]"],
    ["of one", `[${call("1")}]`],
    ["of many", `[${Array(1_000).fill(call("1")).join()}]`],
    ["of other things", "[1,null,[]]"],
  ])("a JSON-RPC batch %s is refused as a whole", async (_, body) => {
    expect(await post(body)).toMatchObject({ id: null, code: "invalidRequest" });
    expect(turns).toBe(0);
  });
});

describe("the id", () => {
  it.each([
    ["a text", '"seven"'],
    ["an empty text", '""'],
    ["a text of 100,000 characters", JSON.stringify("x".repeat(100_000))],
    ["null", "null"],
    ["zero", "0"],
    ["negative", "-1"],
    ["an integer beyond 53 bits", "9007199254740993"],
    ["an integer of 400 digits", "9".repeat(400)],
    ["a fraction", "1.5"],
  ])("the id of a request comes back unchanged when it is %s", async (_, id) => {
    expect(await post(call(id))).toMatchObject({ idText: id, code: undefined });
    expect(await post(call(id, '"Nope"'))).toMatchObject({ idText: id, code: "methodNotFound" });
  });

  it("the id of a request comes back well-formed when it holds half a surrogate pair", async () => {
    const { id, code } = await post(call('"a\\ud800b"'));
    expect(code).toBeUndefined();
    expect(id).toBe("a\ud800b");
  });

  it.each(["true", "[]", "[1]", "{}", '{"id":1}'])("the id of a request is refused when it is %s", async (id) => {
    expect(await post(call(id))).toMatchObject({ id: null, code: "invalidRequest" });
    expect(turns).toBe(0);
  });

  it("the id of a request is required: a notification, which A2A does not have, executes nothing", async () => {
    const body = `{"jsonrpc":"2.0","method":"SendMessage","params":${params}}`;
    expect(await post(body)).toMatchObject({ id: null, code: "invalidRequest" });
    expect(turns).toBe(0);
  });
});

describe("other members", () => {
  it.each([
    ["no version", '{"id":1,"method":"SendMessage"}', "invalidRequest"],
    ["version 1.0", '{"jsonrpc":"1.0","id":1,"method":"SendMessage"}', "invalidRequest"],
    ["version 2", '{"jsonrpc":2.0,"id":1,"method":"SendMessage"}', "invalidRequest"],
    ["no method", '{"jsonrpc":"2.0","id":1}', "invalidRequest"],
    ["a method of null", '{"jsonrpc":"2.0","id":1,"method":null}', "invalidRequest"],
    ["a method that is an object", '{"jsonrpc":"2.0","id":1,"method":{}}', "invalidRequest"],
    ["an empty method", '{"jsonrpc":"2.0","id":1,"method":""}', "methodNotFound"],
    ["a method in small letters", '{"jsonrpc":"2.0","id":1,"method":"sendmessage"}', "methodNotFound"],
    ["a method of every object", '{"jsonrpc":"2.0","id":1,"method":"constructor"}', "methodNotFound"],
    ["the method __proto__", '{"jsonrpc":"2.0","id":1,"method":"__proto__"}', "methodNotFound"],
    ["a method of 10,000 letters", `{"jsonrpc":"2.0","id":1,"method":"${"x".repeat(10_000)}"}`, "methodNotFound"],
    ["half a surrogate pair", '{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', "methodNotFound"],
    ["no params", '{"jsonrpc":"2.0","id":1,"method":"SendMessage"}', "invalidParams"],
    ["params of null", '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":null}', "invalidParams"],
    ["a list of params", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":[${params}]}`, "invalidParams"],
    ["params that are text", '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":"x"}', "invalidParams"],
  ])("a request with %s is refused, with its id", async (_, body, code) => {
    expect(await post(body)).toMatchObject({ id: 1, code });
    expect(turns).toBe(0);
  });

  it("members of an envelope given twice count by the last one, the id included", async () => {
    expect(await post(`{"id":1,"method":"Nope",${call("2").slice(1)}`)).toMatchObject({ id: 2, code: undefined });
    expect(await post(`{"id":1,${call("9007199254740993").slice(1)}`)).toMatchObject({ idText: "9007199254740993" });
    expect(turns).toBe(2);
  });

  it("an id inside or after the params is not mistaken for the id of the request", async () => {
    const inner = params.replace('"text":"hello"', '"data":{"id":9007199254740995}');
    const body = `{"jsonrpc":"2.0","params":${inner},"id":9007199254740993,"method":"SendMessage"}`;
    expect(await post(body)).toMatchObject({ idText: "9007199254740993", code: undefined });
  });

  it("__proto__ in the envelope is ignored like any unknown member", async () => {
    const body = `{"__proto__":{"method":"ListTasks","jsonrpc":"2.0","id":5}}`;
    expect(await post(body)).toMatchObject({ id: null, code: "invalidRequest" });
    expect(await post(`{"__proto__":null,${call("3").slice(1)}`)).toMatchObject({ id: 3, code: undefined });
  });
});
