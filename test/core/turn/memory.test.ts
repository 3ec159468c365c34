import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import { type CoreProcess, createCoreProcess } from "../../../src/core/process.js";
import { textOf } from "../../../src/protocol/content/read.js";
import type { AgentEvent } from "../../../src/protocol/events.js";
import { artifact, completed, inputRequired, park, reply, working } from "../../../src/protocol/events.js";
import type { SendMessageResponse } from "../../../src/protocol/model.js";
import { processSignals } from "../../../src/signals/in-process.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { startHandler, type TestHandler } from "../../support/handler.js";
import { recordingLogger } from "../../support/recording-logger.js";
import { errorOf, stateOf, taskOf } from "../../support/say.js";
import { createVirtualClock, settle, turnUntil, type VirtualClock } from "../../support/virtual-clock.js";

// What running tasks take in memory, and what becomes of an owner that takes too much.

const kibibyte = 1024;
const chunk = "x".repeat(64 * kibibyte);
const runningMaxBytes = 1024 * kibibyte;
const runningWaitMs = 30_000;
const refusal = `the running tasks of this caller take too much memory: the limit is half of what others leave of ${runningMaxBytes} bytes (runningMaxBytes)`;

interface Scene extends TestHandler {
  readonly process: CoreProcess;
  readonly clock: VirtualClock;
}

function serve(agent: Agent, options: { readonly restartable?: boolean } = {}): Scene {
  const clock = createVirtualClock();
  const store = memoryTaskStore({ clock });
  const { logger } = recordingLogger();
  const limits = { runningMaxBytes, runningWaitMs, graceMs: 1000 };
  const process = createCoreProcess({ store, signals: processSignals, clock, logger, limits });
  const served = startHandler({ agent, store, clock, process, limits, ...options });
  return {
    ...served,
    process,
    clock,
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await turnUntil(clock, process.close());
      // Whatever happened, nothing is counted once no turn runs.
      expect([process.memory.bytes, process.memory.waitingTurns]).toEqual([0, 0]);
    },
  };
}

const bob = { principal: { owner: "bob" } };

describe("an owner whose running tasks take more memory than its share", () => {
  it("an owner beyond its share of memory has its turns wait where they emit, and others are served", async () => {
    let emitted = 0;
    await using served = serve(async function* ({ text }) {
      if (text === "small") return yield completed("small");
      yield working();
      for (let index = 0; index < 10; index++) {
        yield artifact(chunk, { artifactId: "all", append: index > 0 });
        emitted += 1;
        await settle();
      }
      yield completed();
    });
    const { memory } = served.process;
    let most = 0;
    const sends = Array.from({ length: 20 }, () => served.send("go"));
    const all = Promise.all(sends);
    let others = 0;
    for (let done = false; !done; ) {
      done = await Promise.race([all.then(() => true), settle().then(() => false)]);
      most = Math.max(most, memory.bytes);
      if (stateOf(taskOf(await served.send("small", {}, bob))) === "COMPLETED") others += 1;
    }
    expect((await all).map((response) => stateOf(taskOf(response)))).toEqual(sends.map(() => "COMPLETED"));
    expect(emitted).toBe(200);
    expect(others).toBeGreaterThan(5);
    // All at once would be 12.5 MiB.
    expect(most).toBeLessThan(2 * runningMaxBytes);
  });

  it("an owner beyond its share of memory has its largest turns FAILED when none ends in time", async () => {
    const go = Promise.withResolvers<void>();
    const reasons: unknown[] = [];
    await using served = serve(async function* ({ text, signal }) {
      const aborted = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      yield working();
      for (let index = 0; index < Number(text); index++)
        yield artifact(chunk, { artifactId: "all", append: index > 0 });
      await Promise.race([go.promise, aborted]).catch((reason: unknown) => {
        reasons.push(reason);
        throw reason;
      });
      yield completed();
    });
    const sends: Promise<SendMessageResponse>[] = [];
    for (const chunks of ["7", "1", "2", "6"]) {
      sends.push(served.send(chunks));
      await settle();
    }
    expect(served.process.memory.waitingTurns).toBe(1);
    await served.clock.advance(runningWaitMs - 1);
    expect(reasons).toEqual([]);
    await served.clock.advance(1);
    go.resolve();
    const [large, ...others] = (await Promise.all(sends)).map(taskOf);
    expect([stateOf(large), textOf(large?.status?.message?.parts ?? [])]).toEqual(["FAILED", refusal]);
    expect(others.map(stateOf)).toEqual(["COMPLETED", "COMPLETED", "COMPLETED"]);
    expect(reasons).toMatchObject([{ name: "AbortError", kind: "ResourceExhausted" }]);
    expect(served.log).toMatchObject([
      { level: "warn", fields: { limit: "runningMaxBytes" }, message: "a turn was ended to make room in memory" },
    ]);
  });

  it.each([false, true])(
    "an owner beyond its share keeps tasks that wait for their caller, which go on later (restartable: %s)",
    async (restartable) => {
      const kinds: unknown[] = [];
      const go = Promise.withResolvers<void>();
      await using served = serve(
        async function* ({ text, ask, signal, task }) {
          signal.addEventListener("abort", () => kinds.push(signal.reason.kind));
          if (task === undefined) {
            yield working();
            for (let index = 0; index < Number(text); index++)
              yield artifact(chunk, { artifactId: "all", append: index > 0 });
          }
          if (text !== "9" && task === undefined) await go.promise;
          else yield completed(textOf((await ask(inputRequired("more?"))).parts));
        },
        { restartable },
      );
      const { id: taskId } = taskOf(await served.send("9"));
      const others = [served.send("3"), served.send("6")];
      await settle();
      expect(served.process.memory.waitingTurns).toBe(1);
      await served.clock.advance(runningWaitMs);
      expect(kinds).toEqual(["ResourceExhausted"]);
      expect(stateOf(await served.get(taskId))).toBe("INPUT_REQUIRED");
      go.resolve();
      expect((await Promise.all(others)).map((other) => stateOf(taskOf(other)))).toEqual(["COMPLETED", "COMPLETED"]);
      // A turn that runs again finds the answer to its question, another one asks anew.
      const answer = taskOf(await served.send("answer", { taskId }));
      expect(stateOf(answer)).toBe(restartable ? "COMPLETED" : "INPUT_REQUIRED");
    },
  );

  it("a turn may end its task, ask or park without waiting for memory, since that gives memory back", async () => {
    const events: Record<string, () => AgentEvent> = {
      complete: () => completed("done"),
      ask: () => inputRequired("more?"),
      park: () => park(),
      reply: () => reply("done"),
    };
    const gate = Promise.withResolvers<void>();
    await using served = serve(async function* ({ text, signal }) {
      yield working();
      if (text !== "hold") {
        yield artifact("small");
        await gate.promise;
        return yield events[text]?.() ?? working();
      }
      for (let index = 0; index < 9; index++) yield artifact(chunk, { artifactId: "all", append: index > 0 });
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    });
    const stream = (text: string) => served.send(text, { configuration: { returnImmediately: true } });
    const ids: string[] = [];
    for (const text of [...Object.keys(events), "hold", "hold"]) {
      ids.push(taskOf(await stream(text)).id);
      await settle();
    }
    expect(served.process.memory.waitingTurns).toBe(1);
    gate.resolve();
    await settle();
    const states = await Promise.all(ids.slice(0, 4).map(async (id) => stateOf(await served.get(id))));
    expect(states).toEqual(["COMPLETED", "INPUT_REQUIRED", "WORKING", "COMPLETED"]);
    expect(served.process.memory.waitingTurns).toBe(1);
  });

  it("messages and wakes that would load a task beyond the share are refused until a turn has ended", async () => {
    const go = Promise.withResolvers<void>();
    await using served = serve(async function* ({ text, task, cause }) {
      if (task !== undefined || cause !== "message") return yield completed("more");
      yield working();
      if (text === "ask") return yield inputRequired("more?");
      if (text === "park") return yield park();
      for (let index = 0; index < 9; index++) yield artifact(chunk, { artifactId: "all", append: index > 0 });
      await go.promise;
      yield completed();
    });
    const immediately = { configuration: { returnImmediately: true } };
    const { id: taskId } = taskOf(await served.send("ask"));
    const { id: parkedId } = taskOf(await served.send("park", immediately));
    const growing = [served.send("grow"), served.send("grow")];
    await settle();
    expect(served.process.memory.waitingTurns).toBe(1);
    const refused = { code: "resourceExhausted", message: refusal, metadata: { limit: "runningMaxBytes" } };
    expect(await errorOf(served.send("answer", { taskId }))).toMatchObject(refused);
    const owner = { owner: "alice", tenant: "" };
    expect(await errorOf(served.handler.wake(owner, parkedId))).toMatchObject(refused);
    expect(stateOf(await served.get(taskId))).toBe("INPUT_REQUIRED");
    go.resolve();
    await Promise.all(growing);
    expect(stateOf(taskOf(await served.send("answer", { taskId })))).toBe("COMPLETED");
    expect(await served.handler.wake(owner, parkedId)).toBe(true);
    await settle();
    expect(stateOf(await served.get(parkedId))).toBe("COMPLETED");
  });
});
