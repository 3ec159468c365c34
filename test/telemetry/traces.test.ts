import { context, trace } from "@opentelemetry/api";
import { type Agent, artifact, completed, reply, serve, working } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { Client } from "../../src/client/node.js";
import { bindingNames } from "../../src/protocol/bindings.js";
import { breakingProxy } from "../support/breaking-proxy.js";
import { type StartedSdk, startSdk } from "../support/otel-sdk.js";
import type { ReceivedSpan } from "../support/otlp-receiver.js";
import { treeOf } from "../support/span-tree.js";

let sdk: StartedSdk;
beforeAll(async () => {
  sdk = await startSdk();
});
afterAll(() => sdk[Symbol.asyncDispose]());

const card = (name: string) => ({ name, description: "d", version: "1.2.3" });

/** Runs work below a span of the test and returns the id of its trace. */
async function traced(work: () => Promise<unknown>): Promise<string> {
  const root = trace.getTracer("test").startSpan("test");
  await context.with(trace.setSpan(context.active(), root), work);
  root.end();
  return root.spanContext().traceId;
}

const spansOf = (traceId: string): readonly ReceivedSpan[] =>
  sdk.receiver.spans.filter((span) => span.traceId === traceId);

describe.each(bindingNames)("over %s", (binding) => {
  const served = (name: string, agent: Agent) =>
    serve({ card: card(name), agent, port: 0, logger: false, bindings: bindingNames });
  const connected = ({ url }: { readonly url: string }) => Client.connect(url, { prefer: [binding] });

  it("a call through two agents is one trace", async () => {
    await using b = await served("B", async () => reply("from B"));
    await using next = await connected(b);
    await using a = await served("A", async (turn) => reply((await next.send(turn.text)).text));
    await using client = await connected(a);
    const traceId = await traced(async () => expect((await client.send("hello")).text).toBe("from B"));
    await expect
      .poll(() => treeOf(sdk.receiver.spans, traceId))
      .toEqual([
        "INTERNAL test",
        "  CLIENT SendMessage",
        "    SERVER SendMessage",
        "      INTERNAL invoke_agent A",
        "        CLIENT SendMessage",
        "          SERVER SendMessage",
        "            INTERNAL invoke_agent B",
      ]);
    const sides = spansOf(traceId).filter(({ name }) => name === "lf.a2a.v1.A2AService/SendMessage");
    expect(new Set(spansOf(traceId).map(({ scope, scopeVersion }) => `${scope} ${scopeVersion}`))).toEqual(
      new Set(["test ", `trivium ${packageJson.version}`]),
    );
    for (const { attributes } of sides)
      expect(attributes).toMatchObject({ "a2a.protocol.binding": binding, "a2a.protocol.version": "1.0" });
  });

  it("a stream is one span, with what its turn went through", async () => {
    await using server = await served("Streaming", async function* () {
      yield working("thinking");
      yield artifact("half", { lastChunk: true });
      yield completed("done");
    });
    await using client = await connected(server);
    let taskId = "";
    const traceId = await traced(async () => {
      ({ taskId = "" } = await client.stream("go").answer);
    });
    await expect
      .poll(() => treeOf(sdk.receiver.spans, traceId))
      .toEqual([
        "INTERNAL test",
        "  CLIENT SendStreamingMessage",
        "    SERVER SendStreamingMessage",
        "      INTERNAL invoke_agent Streaming",
      ]);
    const turn = spansOf(traceId).find(({ name }) => name === "invoke_agent Streaming");
    expect(turn?.events).toEqual([
      "trivium.turn.first_event",
      ...["a2a.task.status", "a2a.task.status", "a2a.task.status"],
    ]);
    expect(turn?.attributes).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "Streaming",
      "gen_ai.agent.version": "1.2.3",
      "gen_ai.conversation.id": expect.any(String),
      "a2a.task.id": taskId,
      "trivium.turn.outcome": "completed",
    });
    const call = spansOf(traceId).find(({ kind, name }) => kind === "SERVER" && name.endsWith("StreamingMessage"));
    expect(call?.attributes).toMatchObject({ "a2a.task.id": taskId, "trivium.stream.events": 4 });
  });

  it("a stream that breaks and is resumed stays one call, with a span of the server for each connection", async () => {
    const gate = Promise.withResolvers<void>();
    await using server = await served("Streaming", async function* () {
      yield artifact("one", { artifactId: "a" });
      await gate.promise;
      yield artifact("two", { artifactId: "a", append: true });
      yield completed();
    });
    await using proxy = await breakingProxy(server.port);
    await using client = await connected(proxy);
    const traceId = await traced(async () => {
      const stream = client.stream("go");
      for await (const delta of stream.text) {
        if (delta !== "one") continue;
        proxy.breakAll();
        gate.resolve();
      }
      expect((await stream.answer).text).toBe("onetwo");
    });
    await expect
      .poll(() => treeOf(sdk.receiver.spans, traceId))
      .toEqual([
        "INTERNAL test",
        "  CLIENT SendStreamingMessage",
        "    SERVER SendStreamingMessage",
        "      INTERNAL invoke_agent Streaming",
        "    SERVER SubscribeToTask",
      ]);
    const call = spansOf(traceId).find(({ kind }) => kind === "CLIENT");
    expect(call?.events).toContain("trivium.client.resume");
  });
});

describe("a call between agents of one server", () => {
  it("a call between agents of one server is a part of the trace, with the same attributes at both ends", async () => {
    await using server = await serve({
      ...{ port: 0, logger: false },
      agents: {
        "/a": { card: card("A"), agent: async ({ client, text }) => reply((await client("/b").send(text)).text) },
        "/b": { card: card("B"), agent: async () => reply("from B") },
      },
    });
    await using client = await Client.connect(`${server.url}/a`);
    const traceId = await traced(async () => expect((await client.send("hello")).text).toBe("from B"));
    await expect
      .poll(() => treeOf(sdk.receiver.spans, traceId))
      .toEqual([
        "INTERNAL test",
        "  CLIENT SendMessage",
        "    SERVER SendMessage",
        "      INTERNAL invoke_agent A",
        "        CLIENT SendStreamingMessage",
        "          SERVER SendStreamingMessage",
        "            INTERNAL invoke_agent B",
      ]);
    const ends = spansOf(traceId).filter(({ name }) => name.endsWith("/SendStreamingMessage"));
    for (const { attributes } of ends) {
      expect(attributes).toMatchObject({ "rpc.system.name": "in_process", "a2a.protocol.binding": "in-process" });
      expect(attributes).not.toHaveProperty("server.address");
    }
  });
});
