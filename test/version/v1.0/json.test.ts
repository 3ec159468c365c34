import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { A2AError } from "../../../src/protocol/errors.js";
import { findOperation, type Operation } from "../../../src/protocol/operations.js";
import type { HttpJsonAdapter, JsonRpcAdapter, Version } from "../../../src/version/codec.js";
import { v1 } from "../../../src/version/v1.0/v1.js";
import { matchRoute } from "../../support/match-route.js";
import { type Answer, fullCard, httpExamples, rpcExamples, webhookExamples } from "./wire-examples.js";

const { jsonRpc, httpJson } = adaptersOf(v1);

describe("JSON-RPC examples of 1.0", () => {
  // Requirements: V1-PRES-1, V1-RPC-3
  it.each(rpcExamples.filter(({ params }) => !isInvalid(params)))(
    "the 1.0 JSON-RPC example $id $method is read and written back",
    (example) => {
      const operation = jsonRpc.methods.get(example.method);
      if (operation === undefined) throw new Error(`no method ${example.method}`);
      const codec = jsonRpc.codec(operation);
      const request = codec.readRequest(example.params);
      expect(codec.writeRequest(request)).toEqual(example.params ?? {});
      expectAnswer(jsonRpc, operation, example, example.params ?? {});
    },
  );
});

describe("HTTP+JSON examples of 1.0", () => {
  it.each(httpExamples.filter(({ call }) => !call.includes("RUNNING")))(
    "the 1.0 HTTP+JSON example $id $call is read and written back",
    (example) => {
      const { operation, fields, query, hasBody } = matchRoute(httpJson.routes, example.call);
      const json = { ...(hasBody ? example.body : httpJson.readQuery(operation, query)), ...fields };
      const request = httpJson.codec(operation).readRequest(json);
      const written = httpJson.codec(operation).writeRequest(request) as JsonObject;
      expect(httpJson.codec(operation).readRequest(written)).toEqual(request);
      if (hasBody) expect(written).toEqual({ ...example.body, ...fields });
      expectAnswer(httpJson, operation, example, json);
    },
  );

  it.each(webhookExamples)("the 1.0 webhook example $id $body is read and written back", ({ body }) => {
    expect(throughStream(httpJson, findOperation("subscribeToTask"), body)).toEqual(body);
  });
});

describe("replies of 1.0", () => {
  const listTasks = jsonRpc.codec(findOperation("listTasks"));
  const page = {
    tasks: [{ id: "t", status: { state: "TASK_STATE_WORKING" } }],
    nextPageToken: "",
    pageSize: 50,
    totalSize: 1,
  };

  // Requirements: V1-LIST-5
  it("replies of 1.0 show that a task has no artifacts when artifacts were requested", () => {
    const request = listTasks.readRequest({ includeArtifacts: true });
    const [task] = page.tasks;
    expect(listTasks.writeReply(listTasks.readReply(page), request)).toEqual({
      ...page,
      tasks: [{ ...task, artifacts: [] }],
    });
  });

  it.each([{}, { includeArtifacts: false }])("replies of 1.0 leave artifacts out for %j", (params) => {
    expect(listTasks.writeReply(listTasks.readReply(page), listTasks.readRequest(params))).toEqual(page);
  });

  it.each([undefined, null, {}])("replies of 1.0 to a delete may be %j", (json) => {
    const codec = jsonRpc.codec(findOperation("deleteTaskPushNotificationConfig"));
    expect(codec.writeReply(codec.readReply(json), codec.readRequest({ taskId: "t", id: "p" }))).toEqual({});
  });

  it("replies of 1.0 may have words and members that we do not know", () => {
    const codec = jsonRpc.codec(findOperation("getTask"));
    const reply = codec.readReply({ id: "t", status: { state: "TASK_STATE_PAUSED" }, mood: "good" });
    expect(codec.writeReply(reply, reply)).toEqual({ id: "t", status: { state: "TASK_STATE_UNSPECIFIED" } });
  });

  it.each([
    ["sendMessage", undefined],
    ["sendMessage", {}],
    ["sendMessage", { task: { id: 7 } }],
    ["getTask", []],
    ["listTasks", "no"],
  ] as const)("replies of 1.0 to %s that are %j are an invalidAgentResponse", (name, json) => {
    const read = () => jsonRpc.codec(findOperation(name)).readReply(json as JsonValue | undefined);
    expect(read).toThrow(expect.objectContaining({ code: "invalidAgentResponse" }));
  });
});

describe("streams of 1.0", () => {
  const operation = findOperation("subscribeToTask");
  const reader = jsonRpc.readStream(operation);
  const event = { statusUpdate: { taskId: "t", contextId: "c", status: { state: "TASK_STATE_WORKING" } } };

  it("streams of 1.0 carry the id of an event", () => {
    const [item] = reader.read(event, { id: "id-7" });
    if (item === undefined) throw new Error("no item");
    expect(jsonRpc.writeStream(operation, item.response).write(item)).toEqual([
      { payload: JSON.stringify(event), id: "id-7" },
    ]);
  });

  it("streams of 1.0 encode an event once for every reader, over both bindings", () => {
    const [item] = reader.read(event);
    if (item === undefined || item.response.payload.case !== "statusUpdate") throw new Error("no item");
    const [first] = jsonRpc.writeStream(operation, item.response).write(item);
    // Changes the event after the first write: an unchanged text shows that it is not encoded again.
    item.response.payload.value.taskId = "changed";
    expect(httpJson.writeStream(operation, item.response).write({ ...item })[0]?.payload).toBe(first?.payload);
  });

  it("streams of 1.0 pass over an event of a kind that we do not know", () => {
    expect(reader.read({ mood: { good: true } }, { id: "id-8" })).toEqual([]);
  });

  it("streams of 1.0 fail on an event that cannot be read", () => {
    expect(() => reader.read({ task: { history: 1 } })).toThrow(A2AError);
  });
});

it("a 1.0 card with everything in it is read and written (E-33)", () => {
  const codec = jsonRpc.codec(findOperation("getExtendedAgentCard"));
  expect(codec.writeReply(codec.readReply(fullCard), codec.readRequest(undefined))).toEqual(fullCard);
});

function expectAnswer(
  adapter: JsonRpcAdapter | HttpJsonAdapter,
  operation: Operation,
  answer: Answer,
  params: JsonObject,
): void {
  const codec = adapter.codec(operation);
  if (answer.result !== undefined) {
    const reply = codec.readReply(answer.result);
    expect(codec.writeReply(reply, codec.readRequest(params))).toEqual(answer.result);
  }
  for (const event of answer.events ?? []) expect(throughStream(adapter, operation, event)).toEqual(event);
}

function throughStream(adapter: JsonRpcAdapter | HttpJsonAdapter, operation: Operation, event: JsonObject): JsonValue {
  const [item] = adapter.readStream(operation).read(event);
  if (item === undefined) throw new Error("the event was passed over");
  const [written] = adapter.writeStream(operation, item.response).write(item);
  return JSON.parse(written?.payload ?? "null") as JsonValue;
}

// E-26 contains invalid requests.
function isInvalid(params: JsonObject | undefined): boolean {
  return JSON.stringify(params ?? {}).includes('"parts":[]');
}

function adaptersOf(version: Version): { jsonRpc: JsonRpcAdapter; httpJson: HttpJsonAdapter } {
  if (version.jsonRpc === undefined || version.httpJson === undefined) throw new Error("1.0 has both JSON bindings");
  return { jsonRpc: version.jsonRpc, httpJson: version.httpJson };
}
