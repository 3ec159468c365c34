import { toBinary } from "@bufbuild/protobuf";
import { completed, reply, serve } from "trivium";
import { describe, expect, it } from "vitest";
import { gateway } from "../../src/gateway/gateway.js";
import { findOperation } from "../../src/protocol/operations.js";
import { frame, rawSession } from "../support/grpc-raw.js";
import { rawCall } from "../support/http-agent.js";
import { connectBody, connectTarget } from "../support/http-ends.js";
import { type LogLine, recordingLogger } from "../support/recording-logger.js";
import { errorOf, requestOf, say } from "../support/say.js";
import { overEveryWire, type ServedOptions } from "../support/serve-agent.js";

const uuid = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;
const card = { name: "Identified", description: "d", version: "1" };

/** Logs, and fails with an error that is masked. */
const failing: ServedOptions["agent"] = async ({ logger, text }) => {
  logger.warn({ text }, "the agent spoke");
  throw new TypeError("unexpected");
};

/** The ids of the records that are about a request, by their messages. */
function idsIn(log: readonly LogLine[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    log.flatMap(({ fields, message = "" }) => ("requestId" in fields ? [[message, fields.requestId]] : [])),
  );
}

overEveryWire((start) => {
  it("the id of a request is in every record about it, its turn included", async () => {
    await using served = await start({ agent: failing, accessLog: true });
    await served.client.sendMessage(say("go"), { headers: { "x-request-id": "edge:42/a" } });
    await expect.poll(() => Object.keys(idsIn(served.log))).toContain("call");
    const id = "edge:42/a";
    expect(idsIn(served.log)).toEqual({ "the agent spoke": id, "the agent failed": id, call: id });
  });

  it.each(["", "with space", "x".repeat(129), "a,b", "naïve", '"><script>'])(
    "a request gets an id of its own when its caller gives none that is safe: %j",
    async (requestId) => {
      await using served = await start({ agent: failing });
      const headers = { "x-request-id": encodeURI(requestId) === requestId ? requestId : "with space" };
      await served.client.sendMessage(say("go"), requestId === "" ? {} : { headers });
      await served.client.sendMessage(say("again"), {});
      const ids = served.log.flatMap(({ fields }) => ("requestId" in fields ? [fields.requestId] : []));
      expect(ids).toEqual([0, 1, 2, 3].map(() => expect.stringMatching(uuid)));
      expect(ids[0]).toBe(ids[1]);
      expect(ids[2]).not.toBe(ids[0]);
    },
  );

  it("a caller that is refused is in the log with the id of its request", async () => {
    let isOpen = true;
    const authenticate = () => {
      if (isOpen) return { owner: "o" };
      throw new RangeError("no key");
    };
    await using served = await start({ agent: failing, authenticate });
    isOpen = false;
    const error = await errorOf(
      served.client.getTask(requestOf("getTask", { id: "t" }), { headers: { "x-request-id": "r-9" } }),
    );
    expect(error.code).toBe("unauthenticated");
    expect(idsIn(served.log)).toEqual({ "a caller was refused": "r-9" });
  });
});

describe("the answer", () => {
  const agent: ServedOptions["agent"] = async () => reply("here");
  const json = { "content-type": "application/json", "A2A-Version": "1.0" };
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] };
  const rpc = (method: string, params: object): string => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });

  const requests = [
    { what: "a reply over JSONRPC", path: "/json-rpc", body: rpc("SendMessage", { message }) },
    { what: "an error over JSONRPC", path: "/json-rpc", body: rpc("GetTask", { id: "none" }) },
    { what: "a body over JSONRPC that is no JSON", path: "/json-rpc", body: "{" },
    { what: "a stream over JSONRPC", path: "/json-rpc", body: rpc("SendStreamingMessage", { message }) },
    { what: "a wrong method over JSONRPC", path: "/json-rpc", body: undefined, method: "GET" },
    { what: "a reply over HTTP+JSON", path: "/http-json/message:send", body: JSON.stringify({ message }) },
    { what: "a stream over HTTP+JSON", path: "/http-json/message:stream", body: JSON.stringify({ message }) },
    { what: "an error over HTTP+JSON", path: "/http-json/tasks/none", body: undefined, method: "GET" },
    { what: "a path that HTTP+JSON does not have", path: "/http-json/none", body: undefined, method: "GET" },
    { what: "a reply over CONNECT", path: connectTarget, body: connectBody },
    { what: "an error over CONNECT", path: connectTarget, body: "{}" },
    { what: "a body over CONNECT that cannot be read", path: connectTarget, body: "{" },
  ];

  it.each(requests)("the answer has the id of its request: $what", async ({ path, body, method = "POST" }) => {
    await using server = await serve({ card, agent, port: 0, logger: false });
    const ask = (headers: object) =>
      rawCall(`${server.url}${path}`, {
        method,
        headers: { ...json, ...headers },
        ...(body === undefined ? {} : { body }),
      });
    expect((await ask({ "X-Request-Id": "mine" })).headers["x-request-id"]).toBe("mine");
    expect((await ask({})).headers["x-request-id"]).toMatch(uuid);
  });

  it("the answer has the id of its request when the caller is refused", async () => {
    const authenticate = () => {
      throw new RangeError("no key");
    };
    await using server = await serve({ card, agent, port: 0, logger: false, authenticate });
    for (const path of ["/json-rpc", "/http-json/message:send", connectTarget]) {
      const { headers, status } = await rawCall(server.url + path, {
        headers: { ...json, "x-request-id": "mine" },
        body: "{}",
      });
      expect({ status, id: headers["x-request-id"] }).toEqual({ status: 401, id: "mine" });
    }
  });

  it("the answer has the id of its request in gRPC's metadata, or in the trailers of an error", async () => {
    await using server = await serve({ card, agent: async () => completed(), port: 0, logger: false });
    using session = rawSession(server.port);
    const headers = { "x-request-id": "mine" };
    const listed = await session.call("ListTasks", frame(new Uint8Array(0)), headers);
    expect(listed.headers["x-request-id"]).toBe("mine");
    const none = toBinary(findOperation("getTask").input, requestOf("getTask", { id: "none" }));
    const missed = await session.call("GetTask", frame(none), headers);
    expect({ status: missed.status, id: { ...missed.headers, ...missed.trailers }["x-request-id"] }).toEqual({
      status: 5,
      id: "mine",
    });
    expect((await session.call("ListTasks", frame(new Uint8Array(0)))).headers["x-request-id"]).toMatch(uuid);
  });

  it("the answer shows the id of its request to pages of other origins, which may send one too", async () => {
    const cors = { origins: ["https://page.example"] };
    await using server = await serve({ card, agent, port: 0, logger: false, cors });
    const origin = { Origin: "https://page.example" };
    const { headers } = await rawCall(`${server.url}/json-rpc`, { headers: { ...json, ...origin }, body: "{" });
    expect(headers["access-control-expose-headers"]).toContain("X-Request-Id");
    const preflightHeaders = { ...origin, "Access-Control-Request-Method": "POST" };
    const preflight = await rawCall(`${server.url}/json-rpc`, { method: "OPTIONS", headers: preflightHeaders });
    expect(preflight.headers["access-control-allow-headers"]).toContain("X-Request-Id");
  });

  it("the id of a request is not shared by caches: the card has no id", async () => {
    await using server = await serve({ card, agent, port: 0, logger: false });
    const answer = await fetch(`${server.url}/.well-known/agent-card.json`, { headers: { "x-request-id": "mine" } });
    expect(answer.headers.has("x-request-id")).toBe(false);
  });
});

it("a gateway passes the id on, so that both ends log a call under one", async () => {
  const [near, far] = [recordingLogger(), recordingLogger()];
  await using server = await serve({
    card,
    agent: async () => completed(),
    port: 0,
    logger: far.logger,
    accessLog: true,
  });
  await using passing = await gateway({ upstream: server.url, port: 0, logger: near.logger, accessLog: true });
  await passing.inProcess().sendMessage(say("go"), {});
  const requestId = idsIn(near.log)["call"];
  expect(requestId).toMatch(uuid);
  await expect.poll(() => idsIn(far.log)["call"]).toBe(requestId);
});

it("an operation that fails unexpectedly is in the log with the id and the reference of its answer", async () => {
  const { log, logger } = recordingLogger();
  const failingCard = { ...card, extended: () => Promise.reject(new TypeError("unexpected")) };
  await using server = await serve({
    card: failingCard,
    agent: failing,
    port: 0,
    logger,
    authenticate: () => ({ owner: "o" }),
  });
  const answer = await rawCall(`${server.url}/http-json/extendedAgentCard`, {
    method: "GET",
    headers: { "A2A-Version": "1.0", "x-request-id": "r-7" },
  });
  expect(answer.status).toBe(500);
  const [line] = log.filter(({ message }) => message === "an operation failed");
  expect(line?.fields).toMatchObject({ requestId: "r-7", reference: expect.any(String), err: expect.any(TypeError) });
  expect(answer.text).toContain(JSON.stringify(Reflect.get(line?.fields ?? {}, "reference")).slice(1, -1));
});
