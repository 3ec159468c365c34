import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/core/agent.js";
import type { Signals, TaskStore } from "../../src/core/ports.js";
import { artifact, inputRequired, working } from "../../src/protocol/events.js";
import { idempotentSendExtension } from "../../src/protocol/extensions.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { around } from "../support/fault-store.js";
import { beginTask, type StartedTask, startHandler, type TestHandler } from "../support/handler.js";
import { historyOf, stateOf, taskOf, textIn } from "../support/say.js";
import { createVirtualClock, settle, type VirtualClock } from "../support/virtual-clock.js";

const noHints: Signals = { publish: () => {}, subscribe: () => () => {} };

/** Answers each message with a question. For "long" it first says `draft` and works until the gate opens. */
function asking(gate: Promise<void>, draft = "a draft"): Agent {
  return async function* ({ text, receive }) {
    for (let input = text; ; input = textIn((await receive()).parts)) {
      yield working();
      if (input === "long") {
        yield artifact(draft, { artifactId: "draft" });
        await gate;
      }
      yield artifact(input, { artifactId: input });
      yield inputRequired(`${input}?`);
    }
  };
}

interface Replicas {
  /** Runs the task. */
  readonly here: StartedTask;
  /** Polls the log every ten seconds. */
  readonly there: TestHandler;
  readonly clock: VirtualClock;
  [Symbol.asyncDispose](): Promise<void>;
}

async function replicas(agent: Agent, wrap: (store: TaskStore) => TaskStore = (store) => store): Promise<Replicas> {
  const clock = createVirtualClock();
  const store = wrap(memoryTaskStore({ clock }));
  const options = { agent, clock, store, signals: noHints };
  const here = await beginTask(options);
  const there = startHandler({ ...options, limits: { pollMs: 10_000 } });
  await settle();
  return {
    here,
    there,
    clock,
    async [Symbol.asyncDispose]() {
      await here[Symbol.asyncDispose]();
      await there[Symbol.asyncDispose]();
    },
  };
}

/** Sends "one" there. When the task has stopped, sends "long" here before the other handler learns of the stop. */
async function goesOn({ here, there, clock }: Replicas) {
  const { taskId } = here;
  const once = { extensions: [idempotentSendExtension] };
  const message = { taskId, messageId: "said once" };
  const response = there.send("one", message, once);
  await settle();
  await clock.advance(1_000);
  expect(historyOf(await here.get(taskId)).at(-1)).toBe("user: one");
  expect(stateOf(await here.get(taskId))).toBe("INPUT_REQUIRED");
  const long = here.send("long", { taskId });
  await clock.advance(1_000);
  expect(stateOf(await here.get(taskId))).toBe("WORKING");
  await clock.advance(10_000);
  return { response, long, again: () => there.send("one", message, once) };
}

describe("a blocking send to a task that continues at once", () => {
  it.each([
    ["whose log is short", "a draft"],
    ["whose snapshot is newer than the stop", "x".repeat(100_000)],
  ])("a blocking send to a task %s returns the task as it was at its stop", async (_, draft) => {
    const gate = Promise.withResolvers<void>();
    await using two = await replicas(asking(gate.promise, draft));
    const { response, long, again } = await goesOn(two);
    for (const answer of [await response, await again()]) {
      const task = taskOf(answer);
      expect([stateOf(task), textIn(task.status?.message?.parts)]).toEqual(["INPUT_REQUIRED", "one?"]);
      expect(task.artifacts.map(({ artifactId }) => artifactId)).toEqual(["go", "one"]);
      expect(historyOf(task)).toEqual(["user: go", "agent: go?", "user: one"]);
    }
    gate.resolve();
    await two.clock.advance(1_000);
    expect(textIn(taskOf(await long).status?.message?.parts)).toBe("long?");
    const late = taskOf(await again());
    expect([textIn(late.status?.message?.parts), late.artifacts.length]).toEqual(["one?", 2]);
  });

  it("a blocking send returns the current task when the log no longer reaches back to its start", async () => {
    const gate = Promise.withResolvers<void>();
    const forgetful = (store: TaskStore) =>
      around(store, async ({ method, args }, go) =>
        method === "recordsAfter" && args[1] === 0 ? "compacted" : await go(),
      );
    await using two = await replicas(asking(gate.promise, "x".repeat(100_000)), forgetful);
    const { response, long } = await goesOn(two);
    expect(stateOf(taskOf(await response))).toBe("WORKING");
    gate.resolve();
    await two.clock.advance(1_000);
    await long;
  });
});
