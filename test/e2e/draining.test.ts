import { once } from "node:events";
import { connect } from "node:http2";
import { artifact, createAgent, inputRequired, type TurnAborted, working } from "trivium";
import { expect, it } from "vitest";
import { postJson, rawCall } from "../support/http-agent.js";
import { errorOf, lineOf, openStream, readUntil, requestOf, say, stateOf, taskOf, textIn } from "../support/say.js";
import { overEach, startAgent } from "../support/serve-agent.js";
import { createVirtualClock } from "../support/virtual-clock.js";
import { errorOverWire } from "../support/wires.js";

// A closing server finishes what runs and refuses new work. Refusal does not depend on the version, so one older wire
// of each kind is enough.

const drained = ["JSONRPC", "HTTP+JSON", "GRPC", "CONNECT", "in-process", "JSONRPC 0.3", "GRPC 0.3"] as const;

overEach(drained, (start) => {
  // Requirements: V1-ERR-11
  it("turns and their streams finish, and new work is refused meanwhile", async () => {
    const gate = Promise.withResolvers<void>();
    const served = await start({
      drainMs: 30_000,
      async *agent({ text }) {
        yield working();
        if (text === "go") await gate.promise;
        yield artifact("done", { artifactId: "x" });
      },
    });
    const stream = await openStream(served.client.sendStreamingMessage(say("go"), {}));
    await readUntil(stream.iterator, (line) => line === "status WORKING");
    const closing = served.server.close();
    const error = await errorOf(served.client.sendMessage(say("new"), {}));
    expect(error).toMatchObject(errorOverWire(served.wire, { code: "unavailable" }));
    gate.resolve();
    expect(await stream.readRest()).toEqual(['artifact x "done"', "status COMPLETED"]);
    await closing;
    await served[Symbol.asyncDispose]();
  });

  it("a blocking send gets its answer before the server closes", async () => {
    const gate = Promise.withResolvers<void>();
    const at = Promise.withResolvers<void>();
    const served = await start({
      drainMs: 30_000,
      async *agent() {
        at.resolve();
        await gate.promise;
        yield artifact("done");
      },
    });
    const answer = served.client.sendMessage(say("go"), {});
    await at.promise;
    const closing = served.server.close();
    gate.resolve();
    expect(stateOf(taskOf(await answer))).toBe("COMPLETED");
    await closing;
    await served[Symbol.asyncDispose]();
  });

  it("a turn that outlives the drain is aborted, and its task fails with the reason", async () => {
    const clock = createVirtualClock();
    const reasons: string[] = [];
    const served = await start({
      clock,
      drainMs: 10_000,
      async *agent({ signal }) {
        yield working();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        reasons.push((signal.reason as TurnAborted).kind);
      },
    });
    const stream = await openStream(served.client.sendStreamingMessage(say("go"), {}));
    await readUntil(stream.iterator, (line) => line === "status WORKING");
    const closing = served.server.close();
    await clock.advance(10_000);
    const [last] = await readUntil(stream.iterator, () => true);
    expect(last && lineOf(last)).toBe("status FAILED");
    const payload = last?.response.payload;
    const message = payload?.case === "statusUpdate" ? payload.value.status?.message : undefined;
    expect(textIn(message?.parts)).toContain("shut down");
    expect(reasons).toEqual(["Draining"]);
    await served[Symbol.asyncDispose]();
    await closing;
  });

  it("a subscription to an idle task does not delay the shutdown", async () => {
    const served = await start({ drainMs: 30_000, agent: async () => inputRequired("more?") });
    const { id } = taskOf(await served.client.sendMessage(say("go"), {}));
    const stream = await openStream(served.client.subscribeToTask(requestOf("subscribeToTask", { id }), {}));
    await served.server.close();
    await stream.readRest().catch(() => {});
    await served[Symbol.asyncDispose]();
  });
});

it("a mounted agent lets its streams finish, and sends the last readers all stored events", async () => {
  const gate = Promise.withResolvers<void>();
  const agent = await createAgent({
    card: { name: "Mounted", description: "Has no port", version: "1" },
    async *agent() {
      yield working();
      await gate.promise;
      for (let index = 0; index < 100; index++) yield artifact(`${index}`, { artifactId: "x", append: index > 0 });
    },
  });
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params: { message } });
  const call = () =>
    agent.fetch()(
      new Request("http://x.example/", { method: "POST", headers: { "content-type": "application/json" }, body }),
    );
  const streamed = await call();
  const closing = agent.close(30_000);
  expect((await call()).status).toBe(503);
  gate.resolve();
  const text = await streamed.text();
  await closing;
  expect(text.match(/artifactUpdate/g)).toHaveLength(100);
  expect(text).toContain("TASK_STATE_COMPLETED");
});

it("over HTTP, connections close gracefully, refusals carry Retry-After, and /readyz answers 503 while /healthz is healthy", async () => {
  const gate = Promise.withResolvers<void>();
  const at = Promise.withResolvers<void>();
  const served = await startAgent("JSONRPC", {
    drainMs: 30_000,
    async *agent() {
      at.resolve();
      await gate.promise;
      yield working();
    },
  });
  const { url } = served.server;
  const health = async (path: string): Promise<number> => (await rawCall(url + path, { method: "GET" })).status;
  expect([await health("/healthz"), await health("/readyz")]).toEqual([200, 200]);
  const answer = served.client.sendMessage(say("go"), {});
  await at.promise;
  const session = connect(url);
  await once(session, "remoteSettings");
  const goAway = once(session, "goaway");
  const closing = served.server.close();
  await goAway;
  expect([await health("/healthz"), await health("/readyz")]).toEqual([200, 503]);
  const call = { jsonrpc: "2.0", id: 1, method: "ListTasks" };
  const refused = await postJson(`${url}/json-rpc`, call);
  expect([refused.status, refused.headers["retry-after"], JSON.parse(refused.text).id]).toEqual([503, "1", null]);
  expect(refused.headers["connection"]).toBe("close");
  expect((await rawCall(`${url}/http-json/tasks`, { method: "GET" })).status).toBe(503);
  gate.resolve();
  await answer;
  await closing;
  await served[Symbol.asyncDispose]();
});
