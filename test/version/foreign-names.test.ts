import { gzipSync } from "node:zlib";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { reply } from "trivium";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type HttpLine, httpLine, json } from "../support/raw-http.js";
import { type ServedAgent, startAgent } from "../support/serve-agent.js";

let served: ServedAgent;
let line: HttpLine;
let turns = 0;

beforeAll(async () => {
  const agent = async () => {
    turns++;
    return reply("done");
  };
  served = await startAgent("JSONRPC", { agent, push: { allow: "loopback" } });
  line = httpLine(served.server.port);
});

beforeEach(() => {
  turns = 0;
});

afterAll(async () => {
  line[Symbol.dispose]();
  await served[Symbol.asyncDispose]();
});

const webhook = { url: "http://127.0.0.1:9/hook" };
const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] };
const protoMessage = { messageId: "m", role: "ROLE_USER", content: [{ text: "hello" }] };
const kindMessage = { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "hello" }] };
const v01 = { id: "t", message: { role: "user", parts: [{ type: "text", text: "hello" }] } };

/** The ways to send, and the own names of what other versions call otherwise. */
const sends = [
  {
    name: "1.0 over JSON-RPC",
    target: "/json-rpc",
    bodyOf: (configuration: JsonValue) => rpcOf("SendMessage", { message, configuration }),
    waits: { returnImmediately: false },
    ownPush: "configuration.taskPushNotificationConfig",
    foreign: { blocking: true, pushNotificationConfig: webhook, push_notification_config: webhook },
  },
  {
    name: "1.0 over HTTP+JSON",
    target: "/http-json/message:send",
    bodyOf: (configuration: JsonValue) => ({ message, configuration }),
    waits: { returnImmediately: false },
    ownPush: "configuration.taskPushNotificationConfig",
    foreign: { blocking: false, pushNotificationConfig: webhook, pushNotification: webhook },
  },
  {
    name: "0.3 over JSON-RPC",
    target: "/json-rpc",
    bodyOf: (configuration: JsonValue) => rpcOf("message/send", { message: kindMessage, configuration }),
    waits: { blocking: true },
    ownPush: "configuration.pushNotificationConfig",
    foreign: { returnImmediately: true, taskPushNotificationConfig: webhook, pushNotification: webhook },
  },
  {
    name: "0.3 over HTTP+JSON",
    target: "/http-json/v1/message:send",
    bodyOf: (configuration: JsonValue) => ({ message: protoMessage, configuration }),
    waits: { blocking: true },
    ownPush: "configuration.pushNotification",
    foreign: { returnImmediately: true, taskPushNotificationConfig: webhook, pushNotificationConfig: webhook },
  },
  {
    name: "1.0 over Connect",
    target: "/lf.a2a.v1.A2AService/SendMessage",
    bodyOf: (configuration: JsonValue) => ({ message, configuration }),
    waits: { returnImmediately: false },
    ownPush: "configuration.taskPushNotificationConfig",
    foreign: { blocking: false, pushNotificationConfig: webhook, push_notification: webhook },
  },
  {
    name: "0.3 over Connect",
    target: "/a2a.v1.A2AService/SendMessage",
    bodyOf: (configuration: JsonValue) => ({ request: protoMessage, configuration }),
    waits: { blocking: true },
    ownPush: "configuration.pushNotification",
    foreign: { returnImmediately: true, taskPushNotificationConfig: webhook, pushNotificationConfig: webhook },
  },
  {
    name: "0.1",
    target: "/json-rpc",
    bodyOf: (configuration: JsonValue) => rpcOf("tasks/send", { ...v01, configuration }),
    waits: {},
    ownPush: "pushNotification",
    foreign: { taskPushNotificationConfig: webhook, pushNotificationConfig: webhook },
  },
];

function rpcOf(method: string, params: JsonValue): JsonObject {
  return { jsonrpc: "2.0", id: 1, method, params };
}

describe.each(sends)("a send of $name", ({ target, bodyOf, waits, ownPush, foreign }) => {
  const send = async (configuration: JsonValue): Promise<string> =>
    (await line.ask({ target, headers: json, body: JSON.stringify(bodyOf(configuration)) })).text;

  it.each(Object.entries(foreign))("a send is refused for %s, which is another version's name", async (name, value) => {
    const text = await send({ [name]: value });
    const own = /push/i.test(name) ? ownPush : `configuration.${Object.keys(waits)[0]}`;
    expect(text).toContain(`configuration has ${name}, which is a name of another version: use ${own}`);
    expect(turns).toBe(0);
  });

  it("a send is accepted with other members that are unknown, and with null for a foreign one", async () => {
    const nulls = Object.fromEntries(Object.keys(foreign).map((name) => [name, null]));
    const text = await send({ ...nulls, ...waits, kind: "configuration", futureMember: { deep: [1] } });
    expect(text).toContain("done");
    expect(turns).toBe(1);
  });
});

it("a send that has its own version's name too is accepted: nothing of it is lost", async () => {
  const body = rpcOf("SendMessage", { message, configuration: { blocking: true, returnImmediately: false } });
  expect((await line.ask({ target: "/json-rpc", headers: json, body: JSON.stringify(body) })).text).toContain("done");
});

it.each([
  ["application/connect+json", false],
  ["application/connect+json", true],
  ["application/grpc-web+json", false],
])("a stream in envelopes of %s is refused for a foreign name, compressed: %s", async (type, isCompressed) => {
  const text = JSON.stringify({ message, configuration: { blocking: true } });
  const content = isCompressed ? gzipSync(text) : Buffer.from(text);
  const head = Buffer.alloc(5);
  head.writeUInt8(isCompressed ? 1 : 0);
  head.writeUInt32BE(content.length, 1);
  const { text: answer } = await line.ask({
    target: "/lf.a2a.v1.A2AService/SendStreamingMessage",
    headers: { "Content-Type": type, ...(isCompressed ? { "Connect-Content-Encoding": "gzip" } : {}) },
    body: Buffer.concat([head, content]),
  });
  expect(decodeURIComponent(answer)).toContain("configuration has blocking, which is a name of another version");
  expect(turns).toBe(0);
});
