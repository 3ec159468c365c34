import { artifact, completed, inputRequired, type TurnAborted, working } from "trivium";
import { expect, it } from "vitest";
import { errorOf, openStream, readUntil, requestOf, say, stateOf, taskOf, textIn } from "../../support/say.js";
import { overEach, overEveryWire, type ServedAgent } from "../../support/serve-agent.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";
import { errorOverWire, wiresThat } from "../../support/wires.js";

const cancel = (id: string) => requestOf("cancelTask", { id });
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

/** Starts a task, reads its stream until it is WORKING, and keeps the stream open. */
async function running({ client }: ServedAgent) {
  const stream = await openStream(client.sendStreamingMessage(say("go"), {}));
  await readUntil(stream.iterator, (line) => line === "status WORKING");
  // In process the caller receives an event before the agent continues after it.
  await settle();
  return { id: taskOf(stream.firstItem.response).id, stream };
}

overEveryWire((start) => {
  // Requirements: V1-CANCEL-3
  it("a cancel aborts the working agent, sets its task to CANCELED and ends its streams", async () => {
    const reasons: string[] = [];
    await using served = await start({
      async *agent({ signal }) {
        yield working();
        await aborted(signal);
        reasons.push((signal.reason as TurnAborted).kind);
      },
    });
    const { id, stream } = await running(served);
    expect(stateOf(await served.client.cancelTask(cancel(id), {}))).toBe("CANCELED");
    expect(await stream.readRest()).toEqual(["status CANCELED"]);
    expect(reasons).toEqual(["Canceled"]);
    expect(stateOf(await served.client.getTask(requestOf("getTask", { id }), {}))).toBe("CANCELED");
  });

  it("events emitted while an agent unwinds are kept", async () => {
    await using served = await start({
      async *agent({ signal }) {
        try {
          yield working();
          await aborted(signal);
          yield artifact("dropped");
        } finally {
          yield artifact("rescued", { artifactId: "x" });
        }
      },
    });
    const { id } = await running(served);
    const task = await served.client.cancelTask(cancel(id), {});
    expect(stateOf(task)).toBe("CANCELED");
    expect(task.artifacts.map(({ parts }) => textIn(parts))).toEqual(["rescued"]);
  });

  it("an agent that ends by itself within the grace has the last word", async () => {
    await using served = await start({
      async agent({ signal, emit }) {
        await emit(working());
        await aborted(signal);
        await emit(working()).catch(() => {});
        return completed("was done already");
      },
    });
    const { id } = await running(served);
    const task = await served.client.cancelTask(cancel(id), {});
    expect([stateOf(task), textIn(task.status?.message?.parts)]).toEqual(["COMPLETED", "was done already"]);
  });

  it("an agent that ignores its signal stops at its next event", async () => {
    let events = 0;
    const more = Promise.withResolvers<void>();
    await using served = await start({
      async *agent() {
        yield working();
        await more.promise;
        for (;;) {
          events++;
          yield artifact("more");
        }
      },
    });
    const { id } = await running(served);
    const canceled = served.client.cancelTask(cancel(id), {});
    more.resolve();
    expect(stateOf(await canceled)).toBe("CANCELED");
    const counted = events;
    await served.client.getTask(requestOf("getTask", { id }), {});
    expect(events).toBe(counted);
  });

  it("an agent that hangs is cut off after its grace", async () => {
    const clock = createVirtualClock();
    const abortNotice = Promise.withResolvers<void>();
    await using served = await start({
      clock,
      async *agent({ signal }) {
        yield working();
        signal.addEventListener("abort", () => abortNotice.resolve());
        await new Promise(() => {});
      },
    });
    const { id, stream } = await running(served);
    const canceled = served.client.cancelTask(cancel(id), {});
    await abortNotice.promise;
    await clock.advance(5000);
    expect(stateOf(await canceled)).toBe("CANCELED");
    expect(await stream.readRest()).toEqual(["status CANCELED"]);
  });

  it("an agent that waits for an answer is aborted as well", async () => {
    const failures: unknown[] = [];
    await using served = await start({
      async *agent({ ask }) {
        yield working();
        await ask(inputRequired("more?")).catch((error: unknown) => failures.push(error));
      },
    });
    const { id } = taskOf(await served.client.sendMessage(say("go"), {}));
    expect(stateOf(await served.client.cancelTask(cancel(id), {}))).toBe("CANCELED");
    expect(failures).toMatchObject([{ kind: "Canceled" }]);
  });

  // Requirements: V1-CANCEL-4
  it("concurrent cancels have one effect", async () => {
    let abortCount = 0;
    await using served = await start({
      async *agent({ signal }) {
        yield working();
        await aborted(signal);
        abortCount++;
      },
    });
    const { id } = await running(served);
    const calls = [1, 2, 3].map(() => served.client.cancelTask(cancel(id), {}).then(stateOf, ({ code }) => code));
    const answers = await Promise.all(calls);
    expect(answers).toContain("CANCELED");
    for (const answer of answers) expect(["CANCELED", "taskNotCancelable"]).toContain(answer);
    expect(abortCount).toBe(1);
  });

  // Requirements: V1-CANCEL-1, V1-CANCEL-2, V03-TASK-4
  it("an ended or canceled task is not cancelable, and an unknown task is not found", async () => {
    await using served = await start({
      agent: async ({ text }) => (text === "ask" ? inputRequired("more?") : completed()),
    });
    const { id } = taskOf(await served.client.sendMessage(say("go"), {}));
    const asking = taskOf(await served.client.sendMessage(say("ask"), {}));
    await served.client.cancelTask(cancel(asking.id), {});
    for (const ended of [id, asking.id]) {
      const error = await errorOf(served.client.cancelTask(cancel(ended), {}));
      expect(error).toMatchObject(
        errorOverWire(served.wire, { code: "taskNotCancelable", metadata: { taskId: ended } }),
      );
    }
    expect(await errorOf(served.client.cancelTask(cancel("none"), {}))).toMatchObject({ code: "taskNotFound" });
  });
});

overEach(wiresThat("watch beyond a question"), (start) => {
  // Requirements: V1-CANCEL-3, V1-SUB-2
  it("an idle task is CANCELED without starting its agent", async () => {
    let turns = 0;
    await using served = await start({
      async *agent() {
        turns++;
        yield inputRequired("more?");
      },
    });
    const { id } = taskOf(await served.client.sendMessage(say("go"), {}));
    const watching = await openStream(served.client.subscribeToTask(requestOf("subscribeToTask", { id }), {}));
    expect(stateOf(await served.client.cancelTask(cancel(id), {}))).toBe("CANCELED");
    expect(await watching.readRest()).toEqual(["status CANCELED"]);
    expect(turns).toBe(1);
  });
});
