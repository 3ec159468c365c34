import { describe, expect, it } from "vitest";
import { patientClients } from "../support/clients.js";
import { createVirtualClock } from "../support/virtual-clock.js";
import { throughPauses } from "./support/pauses.js";
import { type RpcAnswer, result, rpcError, rpcServer } from "./support/rpc-server.js";

// Agents that answer a blocking send before the task has ended, as FastA2A does.

const taskIn = (state: string, more: object = {}) => ({ id: "x", contextId: "c", status: { state }, ...more });
const artifacts = [{ artifactId: "a", parts: [{ text: "42" }] }];
const early = result({ task: taskIn("TASK_STATE_SUBMITTED") });
const working = result(taskIn("TASK_STATE_WORKING"));
const done = result(taskIn("TASK_STATE_COMPLETED", { artifacts }));

async function connect(replies: readonly RpcAnswer[]) {
  const server = await rpcServer(...replies);
  const clock = createVirtualClock();
  const client = await patientClients.connect(server.card, { clock });
  return {
    client,
    clock,
    methods: () => server.requests.map(({ method }) => method),
    async [Symbol.asyncDispose]() {
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe("a send that is answered with a task that has not stopped", () => {
  it.each(["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_UNSPECIFIED"])(
    "a task that is answered before it has stopped is followed until it has: %s",
    async (state) => {
      await using scene = await connect([result({ task: taskIn(state) }), rpcError(-32004), working, done]);
      const sending = scene.client.send("go");
      await throughPauses(scene.clock, sending);
      expect(await sending).toMatchObject({ state: "completed", text: "42" });
      expect(scene.methods()).toEqual(["SendMessage", "SubscribeToTask", "GetTask", "GetTask"]);
    },
  );

  it("a task that is answered early is polled where a subscription ends in an unknown state", async () => {
    const ponders = taskIn("TASK_STATE_PONDERING");
    const event = JSON.stringify({ jsonrpc: "2.0", id: 1, result: { task: ponders } });
    const subscription: RpcAnswer = (response) =>
      response.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${event}\n\n`);
    await using scene = await connect([early, subscription, result(ponders), done]);
    const sending = scene.client.send("go");
    await throughPauses(scene.clock, sending);
    expect(await sending).toMatchObject({ state: "completed", text: "42" });
    expect(scene.methods().slice(0, 2)).toEqual(["SendMessage", "SubscribeToTask"]);
  });

  it("a task that is answered early is the answer of a caller who wanted it at once", async () => {
    await using scene = await connect([early]);
    const answer = await scene.client.send("go", { configuration: { returnImmediately: true } });
    expect([answer.state, scene.methods()]).toEqual(["submitted", ["SendMessage"]]);
  });

  it("a task that is answered early is named in the error when the time is over, so that a wait goes on", async () => {
    await using scene = await connect([early, rpcError(-32004), working, working, rpcError(-32004), done]);
    const sending = scene.client.send("go", { timeoutMs: 600 });
    await throughPauses(scene.clock, sending);
    const error = await sending.catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      code: "deadlineExceeded",
      message:
        'the answer was not complete within 600 ms: the last state of task x is working, continue with client.wait("x")',
      metadata: { taskId: "x", state: "working" },
    });
    const waiting = scene.client.wait("x");
    await throughPauses(scene.clock, waiting);
    expect((await waiting).text).toBe("42");
  });

  it("a task that is answered early stays as it is for the operation itself", async () => {
    await using scene = await connect([early]);
    const { payload } = await scene.client.sendMessage({ message: { parts: [] } });
    expect([payload.case, scene.methods()]).toEqual(["task", ["SendMessage"]]);
  });
});

it("a stream whose time is over in the middle of its answer names the task and its state", async () => {
  const event = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    result: { task: taskIn("TASK_STATE_WORKING", { artifacts }) },
  });
  await using server = await rpcServer((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write(`data: ${event}\n\n`);
  });
  await using client = await patientClients.connect(server.card);
  const stream = client.stream("go", { timeoutMs: 1000 });
  await expect(stream.answer).rejects.toMatchObject({
    code: "deadlineExceeded",
    metadata: { taskId: "x", state: "working" },
  });
});
