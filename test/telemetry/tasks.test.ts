import { trace } from "@opentelemetry/api";
import { type Agent, artifact, completed, inputRequired, park, type Server, serve, type Task, working } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import type { Store } from "../../src/core/ports.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { postgresStore } from "../../src/store/postgres/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { webhook } from "../push/receiver.js";
import { type StartedSdk, startSdk } from "../support/otel-sdk.js";
import type { ReceivedSpan } from "../support/otlp-receiver.js";
import { hasPostgres, sharedPostgres, startTimeoutMs } from "../support/postgres.js";
import { recordingLogger } from "../support/recording-logger.js";
import { say, taskOf } from "../support/say.js";

let sdk: StartedSdk;
beforeAll(async () => {
  sdk = await startSdk();
  if (hasPostgres) await sharedPostgres();
}, startTimeoutMs);
afterAll(() => sdk[Symbol.asyncDispose]());

const card = { name: "Tested", description: "d", version: "1" };

/** The spans of one agent's turns and wakes, once there are so many. */
async function spansOf(contextId: string, name: string, count: number): Promise<readonly ReceivedSpan[]> {
  const findSpans = (): readonly ReceivedSpan[] =>
    sdk.receiver.spans.filter(
      (span) => span.name === name && span.attributes["gen_ai.conversation.id"] === contextId && span.kind !== "CLIENT",
    );
  await expect.poll(findSpans).toHaveLength(count);
  return findSpans();
}

const sends = "lf.a2a.v1.A2AService/SendMessage";
const turns = "invoke_agent Tested";
const placeOf = ({ traceId, spanId }: ReceivedSpan) => ({ traceId, spanId });

/** The task of a message whose answer is not waited for. */
async function sentAtOnce(client: Client): Promise<Task> {
  return taskOf(await client.sendMessage(say("go", { configuration: { returnImmediately: true } })));
}

async function served(agent: Agent): Promise<{ readonly server: Server; readonly client: Client } & AsyncDisposable> {
  const server = await serve({ card, agent, port: 0, logger: false });
  const client = await Client.connect(server.url);
  return {
    server,
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}

describe("the trace of a task", () => {
  it("the trace of a task is linked to that of a follow-up message, which starts a turn of its own", async () => {
    await using here = await served(async ({ text }) => (text === "more" ? completed("done") : inputRequired("what?")));
    const question = await here.client.send("go");
    await here.client.send("more", { continue: question });
    const [first, second] = await spansOf(question.contextId, sends, 2);
    const [, turn] = await spansOf(question.contextId, turns, 2);
    if (first === undefined || second === undefined || turn === undefined) throw new TypeError("spans are missing");
    expect(turn.parentId).toBe(second.spanId);
    expect(turn.links).toEqual([placeOf(first)]);
    expect(second.traceId).not.toBe(first.traceId);
  });

  it("the trace of a task is linked to that of a message that a running turn takes", async () => {
    await using here = await served(async function* ({ ask }) {
      await ask(inputRequired("what?"));
      yield completed("done");
    });
    const question = await here.client.send("go");
    await here.client.send("more", { continue: question });
    const [turn] = await spansOf(question.contextId, turns, 1);
    const followUp = sdk.receiver.spans.findLast(({ name, kind }) => name === sends && kind === "SERVER");
    if (turn === undefined || followUp === undefined) throw new TypeError("spans are missing");
    expect(turn.traceId).not.toBe(followUp.traceId);
    expect(turn.links).toEqual([placeOf(followUp)]);
  });

  it("the trace of a task is linked to that of a wake, below which its turn runs", async () => {
    const server = await serve({
      ...{ card, port: 0, logger: false },
      agent: async ({ cause }) => (cause === "wake" ? completed("done") : park()),
    });
    await using client = await Client.connect(server.url);
    const { id: taskId, contextId } = await sentAtOnce(client);
    const [call] = await spansOf(contextId, sends, 1);
    await spansOf(contextId, turns, 1);
    await server.tasks.wake(taskId, { paid: true });
    const [, turn] = await spansOf(contextId, turns, 2);
    const [wake] = await spansOf(contextId, "wake", 1);
    if (call === undefined || wake === undefined) throw new TypeError("spans are missing");
    expect(turn).toMatchObject({ parentId: wake.spanId, traceId: wake.traceId });
    expect(wake.links).toEqual([placeOf(call)]);
    expect(wake.traceId).not.toBe(call.traceId);
    await server.close();
  });

  const stores: readonly (readonly [string, boolean, () => Store | Promise<Store>])[] = [
    ["memory", true, () => memoryTaskStore()],
    ["SQLite", true, () => sqliteStore({ path: ":memory:" })],
    ["PostgreSQL", hasPostgres, async () => postgresStore({ url: await (await sharedPostgres()).createDatabase() })],
  ];
  it.each(stores.filter(([, isThere]) => isThere))(
    "the trace of a task continues where another process runs its turn again, in %s",
    async (_, __, open) => {
      const store = await open();
      const start = Promise.withResolvers<void>();
      const agent: Agent = async function* ({ attempt, cause, signal }) {
        yield working();
        if (cause === "restart") return yield completed(`attempt ${attempt}`);
        start.resolve();
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      };
      const options = { card, agent, store, port: 0, logger: false, restartable: true, drainMs: 0 } as const;
      const first = await serve(options);
      await using client = await Client.connect(first.url);
      const { contextId } = await sentAtOnce(client);
      await start.promise;
      await first.close();
      const second = await serve(options);
      const [before, after] = await spansOf(contextId, turns, 2);
      const [call] = await spansOf(contextId, sends, 1);
      expect(before?.attributes).toMatchObject({ "trivium.turn.outcome": "released", "trivium.turn.attempt": 1 });
      expect(after?.attributes).toMatchObject({
        "trivium.turn.outcome": "completed",
        "trivium.turn.cause": "restart",
      });
      expect([before?.parentId, after?.parentId]).toEqual([call?.spanId, call?.spanId]);
      expect(after?.traceId).toBe(call?.traceId);
      await second.close();
      await store.close();
    },
  );

  it("the trace of a task is linked to by the call of its webhook, which carries a trace of its own", async () => {
    await using hook = await webhook();
    const push = { allow: "loopback" } as const;
    await using server = await serve({ card, agent: async () => completed(), port: 0, logger: false, push });
    await using client = await Client.connect(server.url);
    const taskPushNotificationConfig = { url: hook.url };
    const { contextId } = taskOf(
      await client.sendMessage(say("go", { configuration: { taskPushNotificationConfig } })),
    );
    await hook.untilReceived(1);
    const [call] = await spansOf(contextId, sends, 1);
    const [delivery] = await expect
      .poll(() => sdk.receiver.spans.filter(({ name, kind }) => name === "POST" && kind === "CLIENT"))
      .toHaveLength(hook.calls.length)
      .then(() => sdk.receiver.spans.filter(({ name, kind }) => name === "POST" && kind === "CLIENT"));
    if (call === undefined || delivery === undefined) throw new TypeError("spans are missing");
    expect(delivery.links).toEqual([placeOf(call)]);
    expect(delivery.traceId).not.toBe(call.traceId);
    expect(delivery.attributes).toMatchObject({ "trivium.push.outcome": "taken", "server.port": hook.port });
    expect(hook.calls[0]?.headers["traceparent"]).toBe(`00-${delivery.traceId}-${delivery.spanId}-01`);
  });

  it("the trace of a task has the spans that the agent makes", async () => {
    await using here = await served(async function* () {
      yield artifact("half");
      trace.getTracer("model").startSpan("chat").end();
      yield completed();
    });
    const { contextId } = await here.client.send("go");
    const [turn] = await spansOf(contextId, turns, 1);
    expect(sdk.receiver.spans.find(({ name }) => name === "chat")).toMatchObject({ parentId: turn?.spanId });
  });
});

describe("records", () => {
  it("records carry the ids of the trace and the span, and the reference of an error leads to both", async () => {
    const { log, logger } = recordingLogger();
    const agent: Agent = async ({ logger: own }) => {
      own.info({}, "said by the agent");
      throw new RangeError("secret");
    };
    await using server = await serve({ card, agent, port: 0, logger, accessLog: true });
    await using client = await Client.connect(server.url);
    const answer = await client.send("go");
    const [, reference = ""] = /reference ([\w-]+)/.exec(answer.text) ?? [];
    const [turn] = await spansOf(answer.contextId, turns, 1);
    const [call] = await spansOf(answer.contextId, sends, 1);
    const place = { trace_id: turn?.traceId, span_id: turn?.spanId, trace_flags: "01" };
    const recordOf = (message: string) => log.find((line) => line.message === message)?.fields;
    expect(recordOf("said by the agent")).toMatchObject(place);
    expect(recordOf("the agent failed")).toMatchObject({ ...place, reference });
    expect(turn).toMatchObject({ isFailed: true, attributes: { "trivium.error.reference": reference } });
    const calls = log.filter(({ message }) => message === "call").map(({ fields }) => fields);
    expect(calls).toContainEqual(expect.objectContaining({ trace_id: call?.traceId, span_id: call?.spanId }));
  });
});
