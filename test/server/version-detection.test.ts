import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { rawSession } from "../support/grpc-raw.js";
import type { HttpAnswer } from "../support/raw-http.js";
import { requestOf } from "../support/say.js";
import { called, contentMessage, fieldFrame, kindMessage, newMessage, typeMessage } from "./called-by-hand.js";

// Detection of a call's version, with every version at one agent: the declared version against the method, path or
// service.

/** Returns the version of a response by its form alone, or an error's code. */
function formOf(answer: HttpAnswer): string {
  const body = JSON.parse(answer.text) as JsonObject;
  const { error, result = body } = body as { error?: JsonObject; result?: JsonObject };
  if (error !== undefined) return String(body["code"] ?? error["code"]);
  if (result["sessionId"] !== undefined) return "0.1";
  if (result["kind"] !== undefined) return "0.3";
  const { task, message, msg } = result as Record<string, JsonObject | undefined>;
  const [{ content, parts } = {}] = [task?.["history"], message, msg].flat().filter((each) => each !== undefined) as [
    JsonObject,
  ];
  if (content !== undefined) return "0.3 by its schema";
  return parts === undefined ? "none" : "1.0";
}

const rpcCalls: Readonly<Record<string, () => JsonValue>> = {
  SendMessage: () => ({ message: newMessage("reply") }),
  "message/send": () => ({ message: kindMessage("reply") }),
  "tasks/send": () => ({ id: crypto.randomUUID(), message: typeMessage("reply") }),
};

describe.each([false, true])("over JSON-RPC, strict: %s", (strict) => {
  // Requirements: IOP-1, IOP-2
  it.each<[method: string, header: string | undefined, lenient: string, strictly: string]>([
    ["SendMessage", undefined, "1.0", "-32009"],
    ["SendMessage", "", "1.0", "-32009"],
    ["SendMessage", "1.0", "1.0", "1.0"],
    ["SendMessage", "1.0.0", "1.0", "1.0"],
    ["SendMessage", "1.0, 0.3", "1.0", "1.0"],
    ["SendMessage", "0.3", "1.0", "-32009"],
    ["SendMessage", "2.0", "-32009", "-32009"],
    ["message/send", undefined, "0.3", "0.3"],
    ["message/send", "0.3", "0.3", "0.3"],
    ["message/send", "0.3.0", "0.3", "0.3"],
    ["message/send", "0.2.6", "0.3", "0.3"],
    ["message/send", "1.0", "0.3", "-32601"],
    ["message/send", "0.5", "-32009", "-32009"],
    ["tasks/send", undefined, "0.1", "0.1"],
    ["tasks/send", "0.3", "0.1", "-32601"],
    ["tasks/send", "1.0", "0.1", "-32601"],
  ])("JSON-RPC's %s with A2A-Version %j is in %s, strictly in %s", async (method, header, lenient, strictly) => {
    await using running = await called({ versions: { strict } });
    const body = { jsonrpc: "2.0", id: 1, method, params: rpcCalls[method]?.() ?? null };
    const answer = await running.ask("/json-rpc", body, header === undefined ? {} : { "A2A-Version": header });
    expect(formOf(answer)).toBe(strict ? strictly : lenient);
  });

  it("a query parameter declares the version over JSON-RPC too, and the header takes precedence", async () => {
    await using running = await called({ versions: { strict } });
    const body = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message: newMessage("reply") } };
    expect(formOf(await running.ask("/json-rpc?A2A-Version=1.0", body))).toBe("1.0");
    expect(formOf(await running.ask("/json-rpc?A2A-Version=1.0", body, { "A2A-Version": "2.0" }))).toBe("-32009");
    expect(formOf(await running.ask("/json-rpc?A2A-Version=2.0", body, { "A2A-Version": "1.0" }))).toBe("1.0");
  });
});

describe("a method that versions share", () => {
  it("a method that versions share goes by the header, then by who named the task, else it is 0.3's", async () => {
    await using running = await called();
    const rpc = async (method: string, params: JsonValue, headers = {}) =>
      running.ask("/json-rpc", { jsonrpc: "2.0", id: 1, method, params }, headers);
    const named = await rpc("tasks/send", { id: "mine", sessionId: "s", message: typeMessage("go") });
    expect(JSON.parse(named.text)).toMatchObject({ result: { id: "mine", sessionId: "s" } });
    const task = JSON.parse((await rpc("message/send", { message: kindMessage("go") })).text).result;
    const get = async (id: string, headers = {}) => formOf(await rpc("tasks/get", { id }, headers));
    expect(await get("mine")).toBe("0.1");
    expect(await get(task.id)).toBe("0.3");
    expect(await get(task.id, { "A2A-Version": "0.1" })).toBe("0.1");
    expect(await get("mine", { "A2A-Version": "0.3" })).toBe("-32001");
    const [first] = (await running.served.client.listTasks(requestOf("listTasks"), {})).tasks.filter(
      ({ contextId }) => contextId === "s",
    );
    expect(await get(first?.id ?? "")).toBe("0.3");
  });
});

describe.each([false, true])("over HTTP+JSON, strict: %s", (strict) => {
  const content = () => ({ message: contentMessage("reply") });
  const parts = () => ({ message: newMessage("reply") });
  // Requirements: IOP-3
  it.each<[path: string, header: string | undefined, body: () => JsonValue, lenient: string, strictly: string]>([
    // A refusal has the form of the version whose paths begin like that: a status in 1.0, a number in 0.3.
    ["/message:send", undefined, parts, "1.0", "400"],
    ["/message:send", "1.0", parts, "1.0", "1.0"],
    ["/message:send", "1.0.7", parts, "1.0", "1.0"],
    // A caller that declares 0.3 here uses its form without a prefix, in which this is no message.
    ["/message:send", "0.3", parts, "-32602", "-32602"],
    ["/message:send", "2.0", parts, "400", "400"],
    ["/v1/message:send", undefined, content, "0.3 by its schema", "0.3 by its schema"],
    ["/v1/message:send", "0.3", content, "0.3 by its schema", "0.3 by its schema"],
    ["/v1/message:send", "0.3.0", content, "0.3 by its schema", "0.3 by its schema"],
    // 0.2 has no binding of its own besides JSON-RPC.
    ["/v1/message:send", "0.2.6", content, "0.3 by its schema", "0.3 by its schema"],
    ["/v1/message:send", "0.4", content, "-32009", "-32009"],
  ])(
    "a version is detected over HTTP+JSON for %s with A2A-Version %s",
    async (path, header, body, lenient, strictly) => {
      await using running = await called({ versions: { strict } });
      const answer = await running.ask(
        `/http-json${path}`,
        body(),
        header === undefined ? {} : { "A2A-Version": header },
      );
      expect(formOf(answer)).toBe(strict ? strictly : lenient);
    },
  );

  // Requirements: IOP-3
  it("a tenant named v1 is reached by callers that declare 1.0", async () => {
    await using running = await called({ versions: { strict }, tenants: ["v1"] });
    const answer = await running.ask("/http-json/v1/message:send", parts(), { "A2A-Version": "1.0" });
    expect(formOf(answer)).toBe("1.0");
  });
});

describe("over gRPC", () => {
  const services = { "1.0": "lf.a2a.v1.A2AService", "0.3": "a2a.v1.A2AService" };

  // Requirements: IOP-4
  it.each<[version: keyof typeof services, metadata: string | undefined, strict: boolean, status: number]>([
    ["1.0", "1.0", true, 5],
    ["1.0", undefined, false, 5],
    ["1.0", undefined, true, 9],
    ["1.0", "2.0", false, 9],
    ["0.3", undefined, false, 5],
    ["0.3", undefined, true, 5],
    ["0.3", "0.3", true, 5],
    ["0.3", "0.3.0", true, 5],
    ["0.3", "1.0", false, 5],
    ["0.3", "0.5", false, 9],
  ])(
    "the gRPC service of %s with a2a-version %s, strict: %s, ends with status %s",
    async (version, metadata, strict, status) => {
      await using running = await called({ versions: { strict } });
      using session = rawSession(running.served.server.port);
      const path = `/${services[version]}/GetTask`;
      const request = version === "1.0" ? fieldFrame(2, "none") : fieldFrame(1, "tasks/none");
      const headers = metadata === undefined ? {} : { "a2a-version": metadata };
      const answer = await session.call("GetTask", request, { ":path": path, ...headers });
      expect(answer.status).toBe(status);
    },
  );
});
