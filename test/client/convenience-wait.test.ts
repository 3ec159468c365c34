import { completed, type ServeOptions, working } from "trivium";
import { describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { taskOf } from "../support/answers.js";
import { patientClients } from "../support/clients.js";
import { createVirtualClock } from "../support/virtual-clock.js";
import { allBindings } from "./support/cards.js";
import { countingAgent } from "./support/counting-agent.js";
import { nextPause, throughPauses } from "./support/pauses.js";
import { result, rpcError, rpcServer, silence } from "./support/rpc-server.js";

const immediately = { configuration: { returnImmediately: true } };
const noStreams: Partial<ServeOptions> = {
  card: { name: "Silent", description: "Does not stream", version: "1", capabilities: { streaming: false } },
};

/** An agent whose tasks end when the test says so. */
async function endingAgent(options: Partial<ServeOptions> = {}) {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const agent = await countingAgent({
    async *agent() {
      yield working();
      await promise;
      yield completed();
    },
    ...options,
  });
  return { agent, end };
}

describe.each(allBindings)("waiting for a task over %s", (binding) => {
  it("a wait for a task lasts until the task ends", async () => {
    const { agent, end } = await endingAgent();
    await using _agent = agent;
    await using client = await Client.connect(agent.url, { prefer: [binding] });
    const { taskId } = await client.send("go", immediately);
    const waiting = client.wait(taskId);
    end();
    expect(await waiting).toMatchObject({ taskId, state: "completed" });
  });

  it.each([
    ["has ended", "go", "completed"],
    ["wants something", "ask", "input-required"],
  ] as const)("a wait is over at once for a task that %s", async (_, word, state) => {
    await using agent = await countingAgent();
    await using client = await Client.connect(agent.url, { prefer: [binding] });
    const answer = await client.send(word);
    const waited = await client.wait(taskOf(answer).id);
    expect(waited.state).toBe(state);
    expect(taskOf(waited).artifacts).toEqual(taskOf(answer).artifacts);
  });

  it("a wait fails for an unknown task", async () => {
    await using agent = await countingAgent();
    await using client = await Client.connect(agent.url, { prefer: [binding] });
    await expect(client.wait("nobody")).rejects.toMatchObject({ code: "taskNotFound" });
  });

  it("a wait polls when the agent does not stream", async () => {
    const { agent, end } = await endingAgent(noStreams);
    await using _agent = agent;
    const clock = createVirtualClock();
    await using client = await Client.connect(agent.url, { prefer: [binding], clock, cardCache: false });
    const { taskId } = await client.send("go", immediately);
    const waiting = client.wait(taskId);
    expect(await nextPause(clock)).toBe(500);
    await clock.advance(500);
    expect(await nextPause(clock)).toBe(750);
    end();
    await throughPauses(clock, waiting);
    expect(await waiting).toMatchObject({ state: "completed" });
  });
});

const running = result({ id: "x", contextId: "c", status: { state: "TASK_STATE_WORKING" } });
const ended = result({ id: "x", contextId: "c", status: { state: "TASK_STATE_FAILED" } });

describe("waiting", () => {
  it.each([
    ["no such method", -32601],
    ["no such operation", -32004],
  ])("a wait falls back to polling when a subscription is refused: %s", async (_, code) => {
    await using server = await rpcServer(rpcError(code), running, ended);
    const clock = createVirtualClock();
    await using client = await patientClients.connect(server.card, { clock });
    const waiting = client.wait("x");
    expect(await throughPauses(clock, waiting)).toEqual([500]);
    expect(await waiting).toMatchObject({ state: "failed" });
    expect(server.requests.map(({ method }) => method)).toEqual(["SubscribeToTask", "GetTask", "GetTask"]);
  });

  it("a wait ends at its time limit, polls included", async () => {
    await using server = await rpcServer(rpcError(-32004), running);
    const clock = createVirtualClock();
    await using client = await patientClients.connect(server.card, { clock, timeoutMs: 1_000 });
    const waiting = client.wait("x");
    expect(await throughPauses(clock, waiting)).toEqual([500, 500]);
    await expect(waiting).rejects.toMatchObject({
      code: "deadlineExceeded",
      message:
        'the answer was not complete within 1000 ms: the last state of task x is working, continue with client.wait("x")',
      metadata: { taskId: "x", state: "working" },
    });
  });

  it.each(["while it asks", "between two questions"])("a wait is broken off by its signal: %s", async (when) => {
    await using server = await rpcServer(rpcError(-32004), when === "while it asks" ? silence : running);
    const clock = createVirtualClock();
    await using client = await patientClients.connect(server.card, { clock });
    const breaking = new AbortController();
    const waiting = client.wait("x", { signal: breaking.signal });
    const outcome = expect(waiting).rejects.toThrow("enough");
    while (server.requests.length < 2) await new Promise(setImmediate);
    if (when === "between two questions") await nextPause(clock);
    breaking.abort(new Error("enough"));
    await outcome;
    expect(clock.pending()).toEqual([]);
  });

  it("a wait ends when the client is closed", async () => {
    await using server = await rpcServer(rpcError(-32004), running);
    const clock = createVirtualClock();
    const client = await patientClients.connect(server.card, { clock });
    const outcome = expect(client.wait("x")).rejects.toThrow("the client is closed");
    await nextPause(clock);
    await client.close();
    await outcome;
  });

  it("a wait uses the given tenant", async () => {
    await using server = await rpcServer(rpcError(-32004), ended);
    await using client = await Client.connect(server.card);
    await client.wait("x", { tenant: "t1" });
    expect(server.requests.map(({ params }) => params)).toEqual([
      { tenant: "t1", id: "x" },
      { tenant: "t1", id: "x" },
    ]);
  });
});
