import { gateway, type ServerInterceptor, serve } from "trivium";
import { afterEach, describe, expect, it } from "vitest";
import type { Client } from "../../src/client/node.js";
import { type VersionName, versionTable } from "../../src/version/versions.js";
import { postJson } from "../support/http-agent.js";
import { say } from "../support/say.js";
import { type Scene, scripted, startScene } from "./scene.js";

// Some agents write each chunk to their task once per reader. So a send of a caller is one reader at the agent.

const versions = versionTable.map(({ name }) => name);
const callers = versions.filter((name) => name !== "0.1");

let scene: Scene | undefined;
afterEach(() => scene?.[Symbol.asyncDispose]());

/** The agent's calls so far that read a task's events as they come, which GetTask does not. */
function countReaders(): { readonly readers: string[]; readonly interceptor: ServerInterceptor } {
  const readers: string[] = [];
  return {
    readers,
    interceptor: async (call, next) => {
      if (call.operation !== "getTask") readers.push(call.operation);
      return next(call);
    },
  };
}

async function inFrontOf(version: VersionName): Promise<{ readonly at: Scene; readonly readers: string[] }> {
  const { readers, interceptor } = countReaders();
  scene = await startScene({
    behind: { bindings: ["JSONRPC"], versions: [version], interceptors: [interceptor] },
  });
  // The two oldest versions look alike until the first message.
  await named(scene.gateway.url, "tasks/send", "first", "echo first");
  readers.length = 0;
  return { at: scene, readers };
}

interface OldTask {
  readonly status: { readonly state: string; readonly message?: unknown };
  readonly artifacts?: readonly { readonly parts: readonly { readonly text: string }[] }[];
}

/** A call of 0.1, whose caller names the task. Gives the body of the answer. */
async function named(url: string, method: string, id: string, text: string): Promise<string> {
  const params = { id, message: { role: "user", parts: [{ type: "text", text }] } };
  return (await postJson(`${url}/json-rpc`, { jsonrpc: "2.0", id: 1, method, params })).text;
}

function textOf(body: string): string {
  const { result } = JSON.parse(body) as { readonly result: OldTask };
  return result.artifacts?.flatMap(({ parts }) => parts.map(({ text }) => text)).join("") ?? "";
}

async function last(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

const sends: Readonly<Record<string, (client: Client) => Promise<unknown>>> = {
  "a send": ({ operations }) => operations.sendMessage(say("chunks"), {}),
  "a send that does not wait": ({ operations }) =>
    operations.sendMessage(say("chunks", { configuration: { returnImmediately: true } }), {}),
  "a send that is answered with a message": ({ operations }) => operations.sendMessage(say("say hello"), {}),
  "a stream": ({ operations }) => last(operations.sendStreamingMessage(say("chunks"), {})),
};

describe.each(versions)("in front of an agent in version %s", (behind) => {
  it.each([
    ["tasks/send", "chunks"],
    ["tasks/send", "ask berth"],
    ["tasks/sendSubscribe", "chunks"],
    ["tasks/sendSubscribe", "ask berth"],
  ])("a new task that its caller names has one reader: %s, %s", async (method, text) => {
    const { at, readers } = await inFrontOf(behind);
    const body = await named(at.gateway.url, method, "mine", text);
    expect(body).toContain(text === "chunks" ? "completed" : "input-required");
    expect(readers).toHaveLength(1);
  });

  it("each message to a named task that exists adds one reader", async () => {
    const { at, readers } = await inFrontOf(behind);
    await named(at.gateway.url, "tasks/send", "mine", "ask berth");
    expect(textOf(await named(at.gateway.url, "tasks/send", "mine", "north"))).toBe("berth north");
    expect(readers).toHaveLength(2);
  });

  it.each(callers)("each send of a caller in version %s is one reader", async (version) => {
    const { at, readers } = await inFrontOf(behind);
    const client = await at.over("JSONRPC", { version });
    for (const [name, send] of Object.entries(sends)) {
      // An agent of 0.1 has no messages for answers.
      if (behind === "0.1" && name.endsWith("message")) continue;
      readers.length = 0;
      await send(client);
      expect([name, readers]).toEqual([name, [expect.stringMatching(/^send/)]]);
    }
  });
});

it("a gateway gives a caller that names its task the agent's message, and sends it once", async () => {
  const { at, readers } = await inFrontOf("1.0");
  expect(await named(at.gateway.url, "tasks/send", "mine", "say hello")).toContain("hello");
  expect(readers).toEqual(["sendStreamingMessage"]);
});

it("a gateway gives a caller that names its task the history that it asks for", async () => {
  const { at } = await inFrontOf("1.0");
  const message = { role: "user", parts: [{ type: "text", text: "ask pier" }] };
  const send = async (id: string, historyLength: number): Promise<string> => {
    const params = { id, message, historyLength };
    return (await postJson(`${at.gateway.url}/json-rpc`, { jsonrpc: "2.0", id: 1, method: "tasks/send", params })).text;
  };
  expect([(await send("none", 0)).includes("ask pier"), (await send("some", 5)).includes("ask pier")]).toEqual([
    false,
    true,
  ]);
});

it("a gateway passes on the error of an agent that refuses a named send, which may then be sent again", async () => {
  const { at, readers } = await inFrontOf("1.0");
  const refusal = JSON.parse(await named(at.gateway.url, "tasks/send", "mine", "refuse"));
  expect(refusal).toMatchObject({ error: { code: -32602 } });
  expect(textOf(await named(at.gateway.url, "tasks/send", "mine", "chunks"))).toBe("onetwothree");
  expect(readers).toEqual(["sendStreamingMessage", "sendStreamingMessage"]);
});

it("a gateway polls the task of a named send at an agent that cannot stream", async () => {
  const { readers, interceptor } = countReaders();
  const card = { name: "Mute", description: "Cannot stream", version: "1.0.0" };
  await using behind = await serve({ card, agent: scripted, port: 0, interceptors: [interceptor] });
  const capabilities = { ...behind.card.capabilities, streaming: false };
  await using front = await gateway({
    upstream: { ...behind.card, capabilities } as typeof behind.card,
    port: 0,
    logger: false,
  });
  expect(textOf(await named(front.url, "tasks/send", "mine", "chunks"))).toBe("onetwothree");
  expect(readers).toEqual(["sendMessage"]);
});
