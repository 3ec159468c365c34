import type { ServerResponse } from "node:http";
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Client } from "../../../src/client/node.js";
import { TaskState } from "../../../src/protocol/model.js";
import { itemsOf } from "../../support/items.js";
import { countingAgent } from "../support/counting-agent.js";
import { type RpcAnswer, type RpcRequest, rpcServer } from "../support/rpc-server.js";

// Agents whose cards fit both of the two oldest versions.

const near = { allowPrivate: true, retry: false } as const;
const send = ["message/send", "tasks/send"] as const;

/** A card without a version and without any member that only one version has. */
const guessed = (url: string): JsonObject => ({
  name: "Guessed",
  url,
  version: "1",
  capabilities: { streaming: true },
  authentication: null,
  skills: [{ id: "s", name: "S" }],
});

const tasks = {
  "message/send": { kind: "task", id: "t", contextId: "c", status: { state: "completed" } },
  "tasks/send": { id: "t", sessionId: "c", status: { state: "completed" } },
} as const;

/** How real agents answer an unknown method. */
const refusals: Readonly<Record<string, (response: ServerResponse) => void>> = {
  "an error": (response) => rpc(response, 200, { error: { code: -32601, message: "no such method" } }),
  "an error and HTTP 404": (response) => rpc(response, 404, { error: { code: -32601, message: "no such method" } }),
  "an invalid request and HTTP 400": (response) => rpc(response, 400, { error: { code: -32600, message: "invalid" } }),
  "HTTP 404": (response) => void response.writeHead(404).end(),
};

function rpc(response: ServerResponse, status: number, member: JsonObject): void {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...member });
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}

/** An agent that knows some methods and refuses the others. */
async function agentOf(answers: Readonly<Record<string, JsonObject>>, refuse: (response: ServerResponse) => void) {
  const answer: RpcAnswer = (response, { method, params }: RpcRequest) => {
    const member = answers[method];
    if (member === undefined) return refuse(response);
    // In the oldest version callers choose the id of a task.
    const result = method === "tasks/send" ? { ...member, id: String(params["id"]) } : member;
    rpc(response, 200, "code" in member ? { error: member } : { result });
  };
  return rpcServer(answer);
}

const notFound = { code: -32001, message: "no such task" };
const sends = (requests: readonly RpcRequest[]) =>
  requests.map(({ method }) => method).filter((method) => (send as readonly string[]).includes(method));

describe.each(Object.entries(refusals))("an agent that refuses unknown requests with %s", (_, refuse) => {
  it("an agent of 0.2 that refuses unknown requests is detected as 0.2", async () => {
    const answers = { "tasks/pushNotificationConfig/get": notFound, "message/send": tasks["message/send"] };
    await using server = await agentOf(answers, refuse);
    await using client = await Client.connect(guessed(server.url), near);
    for (const _ of [1, 2]) expect(await client.send("go")).toMatchObject({ state: "completed" });
    expect(client.connection).toMatchObject({ version: "0.2", skipped: [] });
    expect(server.requests).toHaveLength(3);
  });

  it("an agent of 0.1 that refuses unknown requests is detected once, before it gets a message", async () => {
    await using server = await agentOf({ "tasks/send": tasks["tasks/send"], "tasks/get": notFound }, refuse);
    await using client = await Client.connect(guessed(server.url), near);
    for (const _ of [1, 2]) expect(await client.send("go")).toMatchObject({ state: "completed" });
    expect(client.connection).toMatchObject({ version: "0.1", skipped: [{ version: "0.2" }] });
    expect(sends(server.requests)).toEqual(["tasks/send", "tasks/send"]);
    expect(server.requests).toHaveLength(3);
  });
});

it("an agent that crashes on unknown requests is detected as 0.1", async () => {
  const refuse = (response: ServerResponse): void => void response.writeHead(500).end("Internal Server Error");
  await using server = await agentOf({ "tasks/send": tasks["tasks/send"] }, refuse);
  await using client = await Client.connect(guessed(server.url), near);
  expect(await client.send("go")).toMatchObject({ state: "completed" });
  expect(client.connection?.version).toBe("0.1");
  expect(sends(server.requests)).toEqual(["tasks/send"]);
});

it("an agent that answers the probe of 0.2 but rejects its messages gets those of 0.1", async () => {
  const answers = { "tasks/pushNotificationConfig/get": notFound, "tasks/send": tasks["tasks/send"] };
  await using server = await agentOf(answers, refusals["an error"] ?? fail);
  await using client = await Client.connect(guessed(server.url), near);
  for (const _ of [1, 2]) expect(await client.send("go")).toMatchObject({ state: "completed" });
  expect(client.connection?.version).toBe("0.1");
  expect(sends(server.requests)).toEqual(["message/send", "tasks/send", "tasks/send"]);
});

it("an agent that accepts messages of 0.2 but rejects the probe still gets them", async () => {
  await using server = await agentOf({ "message/send": tasks["message/send"] }, refusals["an error"] ?? fail);
  await using client = await Client.connect(guessed(server.url), near);
  for (const _ of [1, 2]) expect(await client.send("go")).toMatchObject({ state: "completed" });
  expect(client.connection?.version).toBe("0.2");
  expect(sends(server.requests)).toEqual(["tasks/send", "message/send", "message/send"]);
});

it("an agent that knows neither 0.2 nor 0.1 is reported as lacking the method", async () => {
  await using server = await agentOf({}, refusals["an error"] ?? fail);
  await using client = await Client.connect(guessed(server.url), near);
  await expect(client.send("go")).rejects.toMatchObject({ code: "methodNotFound" });
  expect(client.connection).toBeUndefined();
});

it("the answer of a 0.2 agent to a message is final", async () => {
  const answers = {
    "tasks/pushNotificationConfig/get": notFound,
    "message/send": { code: -32602, message: "no parts" },
  };
  await using server = await agentOf(answers, refusals["an error"] ?? fail);
  await using client = await Client.connect(guessed(server.url), near);
  await expect(client.send("go")).rejects.toMatchObject({ code: "invalidParams" });
  expect(sends(server.requests)).toEqual(["message/send"]);
});

it.each(["0.2", "0.1"] as const)("an agent of ours that serves %s is streamed from by a guess", async (version) => {
  await using agent = await countingAgent({ versions: [version] });
  await using client = await Client.connect(guessed(`${agent.url}/json-rpc`), near);
  const items = await itemsOf(client.stream("go"));
  expect(items.at(-1)?.response.payload.value).toMatchObject({ status: { state: TaskState.COMPLETED } });
  expect(client.connection?.version).toBe(version);
  expect(agent.runs).toBe(1);
});

function fail(): never {
  throw new TypeError("no such refusal");
}
