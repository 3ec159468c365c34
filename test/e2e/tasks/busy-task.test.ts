import { artifact, completed, inputRequired, working } from "trivium";
import { expect, it } from "vitest";
import {
  errorOf,
  historyOf,
  lineOf,
  openStream,
  readUntil,
  requestOf,
  say,
  stateOf,
  taskOf,
  textIn,
} from "../../support/say.js";
import { overEach, overEveryWire, type ServedAgent } from "../../support/serve-agent.js";
import { createVirtualClock } from "../../support/virtual-clock.js";
import { watchStore } from "../../support/watched-store.js";
import { errorOverWire, wiresThat } from "../../support/wires.js";

// Messages to a running task wait in its inbox until the agent takes them or the turn ends.

/** Starts a task and leaves it running. */
async function busy({ client }: ServedAgent): Promise<string> {
  const stream = await openStream(client.sendStreamingMessage(say("go"), {}));
  await readUntil(stream.iterator, (line) => line === "status WORKING");
  await stream.iterator.return?.();
  return taskOf(stream.firstItem.response).id;
}

overEveryWire((start) => {
  // Requirements: V03-SEND-3
  it("a message that the task has not taken when it ends is refused, however it was sent", async () => {
    const inbox = watchStore();
    const gate = Promise.withResolvers<void>();
    await using served = await start({
      storeAround: inbox.around,
      async *agent() {
        yield working();
        await gate.promise;
        yield completed();
      },
    });
    const taskId = await busy(served);
    const immediately = { taskId, configuration: { returnImmediately: true } };
    const calls = [
      errorOf(served.client.sendMessage(say("1", { taskId }), {})),
      errorOf(served.client.sendMessage(say("2", immediately), {})),
      errorOf(served.client.sendStreamingMessage(say("3", { taskId }), {})),
    ];
    await inbox.waitForPuts(3);
    gate.resolve();
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: "unsupportedOperation" });
    expect(historyOf(await served.client.getTask(requestOf("getTask", { id: taskId }), {}))).toEqual(["user: go"]);
  });

  it("a full inbox refuses one more message, with a retry delay", async () => {
    const inbox = watchStore();
    const gate = Promise.withResolvers<void>();
    await using served = await start({
      storeAround: inbox.around,
      limits: { inboxMaxMessages: 2 },
      async *agent() {
        yield working();
        await gate.promise;
      },
    });
    const taskId = await busy(served);
    const waits = ["1", "2"].map((text) => errorOf(served.client.sendMessage(say(text, { taskId }), {})));
    await inbox.waitForPuts(2);
    const error = await errorOf(served.client.sendMessage(say("3", { taskId }), {}));
    expect(error).toMatchObject(errorOverWire(served.wire, { code: "resourceExhausted", retryAfterMs: 1000 }));
    gate.resolve();
    await Promise.all(waits);
  });
});

overEach(wiresThat("watch beyond a question"), (start) => {
  it("a message to a busy task starts its next turn when the agent asks for more, never a second one beside it", async () => {
    const gate = Promise.withResolvers<void>();
    let running = 0;
    let most = 0;
    await using served = await start({
      async *agent({ task, text }) {
        most = Math.max(most, ++running);
        try {
          yield working();
          if (task === undefined) await gate.promise;
          yield text === "end" ? completed("ended") : inputRequired("more?");
        } finally {
          running--;
        }
      },
    });
    const taskId = await busy(served);
    const streamed = await openStream(served.client.sendStreamingMessage(say("end", { taskId }), {}));
    expect(lineOf(streamed.firstItem)).toBe("task WORKING");
    gate.resolve();
    expect(await streamed.readRest()).toEqual(["status INPUT_REQUIRED", "status WORKING", "status COMPLETED"]);
    const task = await served.client.getTask(requestOf("getTask", { id: taskId }), {});
    expect(historyOf(task)).toEqual(["user: go", "agent: more?", "user: end"]);
    expect(most).toBe(1);
  });
});

overEach(wiresThat("answer at once"), (start) => {
  it("an agent that asks for input receives messages that arrived before", async () => {
    const inbox = watchStore();
    const gate = Promise.withResolvers<void>();
    await using served = await start({
      storeAround: inbox.around,
      async *agent({ receive }) {
        yield working();
        await gate.promise;
        yield artifact(textIn((await receive()).parts));
        yield artifact(textIn((await receive()).parts));
      },
    });
    const taskId = await busy(served);
    const configuration = { returnImmediately: true };
    const one = served.client.sendMessage(say("one", { taskId, configuration }), {});
    await inbox.waitForPuts(1);
    const two = served.client.sendMessage(say("two", { taskId }), {});
    gate.resolve();
    expect(historyOf(taskOf(await one))).toContain("user: one");
    const task = taskOf(await two);
    expect(stateOf(task)).toBe("COMPLETED");
    expect(task.artifacts.map(({ parts }) => textIn(parts))).toEqual(["one", "two"]);
  });

  it("a returnImmediately send to a busy task is withdrawn when the agent does not take it in time", async () => {
    const clock = createVirtualClock();
    const inbox = watchStore();
    const gate = Promise.withResolvers<void>();
    await using served = await start({
      clock,
      storeAround: inbox.around,
      async *agent({ receive }) {
        yield working();
        await gate.promise;
        yield artifact(textIn((await receive()).parts));
      },
    });
    const taskId = await busy(served);
    const configuration = { returnImmediately: true };
    const late = errorOf(served.client.sendMessage(say("withdrawn", { taskId, configuration }), {}));
    await inbox.waitForPuts(1);
    await clock.advance(10_000);
    expect(await late).toMatchObject({ code: "unsupportedOperation" });
    gate.resolve();
    const task = taskOf(await served.client.sendMessage(say("taken", { taskId }), {}));
    expect(historyOf(task)).toEqual(["user: go", "user: taken"]);
    expect(task.artifacts.map(({ parts }) => textIn(parts))).toEqual(["taken"]);
  });
});
