import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import type { Signals, TaskStore } from "../../../src/core/ports.js";
import { artifact, completed, inputRequired, working } from "../../../src/protocol/events.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { beginTask, type StartedTask, startHandler, type TestHandler } from "../../support/handler.js";
import { errorOf, historyOf, lineOf, linesOf, openStream, stateOf, taskOf, textIn } from "../../support/say.js";
import { createVirtualClock, settle, type VirtualClock } from "../../support/virtual-clock.js";

/** Hints that never arrive. */
const lost: Signals = { publish: () => {}, subscribe: () => () => {} };

interface Pair {
  readonly here: StartedTask;
  readonly there: TestHandler;
  readonly clock: VirtualClock;
  readonly store: TaskStore;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Two handlers on one store; the first one runs a turn. */
async function pair(agent: Agent, signals?: Signals): Promise<Pair> {
  const clock = createVirtualClock();
  const store = memoryTaskStore({ clock });
  const options = { agent, clock, store, ...(signals && { signals }) };
  const here = await beginTask(options);
  const there = startHandler(options);
  await settle();
  return {
    here,
    there,
    clock,
    store,
    async [Symbol.asyncDispose]() {
      await here[Symbol.asyncDispose]();
      await there[Symbol.asyncDispose]();
    },
  };
}

describe.each([
  ["with hints between them", undefined, 0],
  ["with all hints lost, by the poll", lost, 1000],
] as const)("two handlers of one store, %s", (_, signals, delayMs) => {
  it("a message reaches a turn that runs in the other handler", async () => {
    await using two = await pair(async function* ({ ask }) {
      const answer = await ask(inputRequired("?"));
      yield artifact(textIn(answer.parts), { artifactId: "a" });
    }, signals);
    const { taskId } = two.here;
    const response = two.there.send("one", { taskId });
    const streamed = linesOf(two.there.subscribe(taskId));
    await two.clock.advance(2 * delayMs);
    const task = taskOf(await response);
    expect([stateOf(task), textIn(task.artifacts[0]?.parts)]).toEqual(["COMPLETED", "one"]);
    expect(historyOf(task)).toEqual(["user: go", "agent: ?", "user: one"]);
    expect(await streamed).toEqual(["task INPUT_REQUIRED", "status WORKING", 'artifact a "one"', "status COMPLETED"]);
  });

  it("a subscription in the other handler sees each event, and a read returns the stored task", async () => {
    const gate = Promise.withResolvers<void>();
    await using two = await pair(async function* () {
      yield artifact("1", { artifactId: "a" });
      await gate.promise;
      for (const text of ["2", "3"]) yield artifact(text, { artifactId: "a", append: true });
    }, signals);
    const { taskId } = two.here;
    const stream = await openStream(two.there.subscribe(taskId));
    expect(lineOf(stream.firstItem)).toBe("task SUBMITTED");
    expect(textIn((await two.there.get(taskId)).artifacts[0]?.parts)).toBe("1");
    gate.resolve();
    const rest = stream.readRest();
    await two.clock.advance(2 * delayMs);
    expect(await rest).toEqual(['artifact a "2" append', 'artifact a "3" append', "status COMPLETED"]);
    expect((await two.there.get(taskId)).artifacts).toEqual((await two.here.get(taskId)).artifacts);
  });

  it("a cancel in the other handler stops the turn", async () => {
    await using two = await pair(async function* ({ signal }) {
      yield working();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    }, signals);
    const canceled = two.there.cancel(two.here.taskId);
    await two.clock.advance(2 * delayMs);
    expect(stateOf(await canceled)).toBe("CANCELED");
  });

  it("a message refused at the end of the turn is refused in the other handler", async () => {
    const gate = Promise.withResolvers<void>();
    await using two = await pair(async function* () {
      yield working();
      await gate.promise;
      yield completed();
    }, signals);
    const refused = errorOf(two.there.send("late", { taskId: two.here.taskId }));
    await settle();
    gate.resolve();
    await two.clock.advance(2 * delayMs);
    expect(await refused).toMatchObject({ code: "unsupportedOperation" });
  });
});

describe("two handlers of one store", () => {
  it("the handler that receives a message claims the waiting task from the other one of its store", async () => {
    const turns: string[] = [];
    const named = (name: string): Agent =>
      async function* ({ text }) {
        turns.push(`${name} ${text}`);
        yield text === "end" ? completed() : inputRequired("?");
      };
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    await using a = startHandler({ agent: named("a"), clock, store });
    await using b = startHandler({ agent: named("b"), clock, store });
    const { id: taskId } = taskOf(await a.send("1"));
    for (const [text, handler] of [
      ["2", b],
      ["3", a],
    ] as const) {
      await settle();
      await handler.send(text, { taskId });
    }
    await settle();
    expect(stateOf(taskOf(await b.send("end", { taskId })))).toBe("COMPLETED");
    expect(turns).toEqual(["a 1", "b 2", "a 3", "b end"]);
    const head = await store.head({ agent: "", tenant: "", owner: "alice" }, taskId);
    expect(head).toMatchObject({ turn: 4, epoch: 4, holder: "" });
  });

  it("two handlers that receive messages at once run one turn after the other and lose none", async () => {
    let running = 0;
    let most = 0;
    const agent: Agent = async function* () {
      most = Math.max(most, ++running);
      await settle();
      yield inputRequired("?");
      running--;
    };
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    await using a = startHandler({ agent, clock, store });
    await using b = startHandler({ agent, clock, store });
    const { id: taskId } = taskOf(await a.send("go"));
    const answers = ["1", "2", "3", "4"].map((text, index) => (index % 2 === 0 ? a : b).send(text, { taskId }));
    for (const answer of answers) expect(stateOf(taskOf(await answer))).toBe("INPUT_REQUIRED");
    const userLines = historyOf(await a.get(taskId)).filter((line) => line.startsWith("user"));
    expect(userLines.toSorted((x, y) => x.localeCompare(y))).toEqual([
      "user: 1",
      "user: 2",
      "user: 3",
      "user: 4",
      "user: go",
    ]);
    expect(most).toBe(1);
  });
});

describe("a handler with an expired lease", () => {
  /** A task whose handler's clock stands still, seen by another handler on the store. */
  async function stuck() {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const gate = Promise.withResolvers<void>();
    const agent: Agent = async function* ({ signal }) {
      yield working();
      signal.addEventListener("abort", () => reasons.push(signal.reason));
      await gate.promise;
      yield artifact("too late");
    };
    const reasons: { readonly kind?: string }[] = [];
    const other = startHandler({ agent, clock, store, signals: lost });
    // So that one expires between two heartbeats of the other.
    await clock.advance(1000);
    const gone = await beginTask({ agent, clock: createVirtualClock(), store, signals: lost });
    return { clock, gate, gone, other, reasons, taskId: gone.taskId };
  }

  it("a handler with an expired lease has its tasks ended by another after expiry, and not before", async () => {
    const { clock, gone, other, taskId } = await stuck();
    const lines = linesOf(other.subscribe(taskId));
    await clock.advance(14_000);
    expect(stateOf(await other.get(taskId))).toBe("WORKING");
    await clock.advance(4000);
    const task = await other.get(taskId);
    expect(stateOf(task)).toBe("FAILED");
    expect(textIn(task.status?.message?.parts)).toBe("the process that worked on the task has gone");
    expect(await lines).toEqual(["task WORKING", "status FAILED"]);
    await other[Symbol.asyncDispose]();
    await gone[Symbol.asyncDispose]();
  });

  it("a handler that returns after its lease writes nothing, and answers with the task's outcome", async () => {
    const { clock, gate, gone, other, reasons, taskId } = await stuck();
    const rest = gone.opening.readRest();
    await clock.advance(18_000);
    await gone.clock.advance(1000);
    gate.resolve();
    expect(reasons).toMatchObject([{ kind: "OwnershipLost" }]);
    expect(await rest).toEqual(["status WORKING", "status FAILED"]);
    const task = await gone.get(taskId);
    expect([stateOf(task), task.artifacts]).toEqual(["FAILED", []]);
    await other[Symbol.asyncDispose]();
    await gone[Symbol.asyncDispose]();
  });

  it.each<[string, (other: TestHandler, taskId: string) => Promise<unknown>, string]>([
    ["a message", (other, taskId) => other.send("more", { taskId }), "unsupportedOperation"],
    [
      "a cancel",
      (other, taskId) => other.cancel(taskId).then((task) => Promise.reject({ code: stateOf(task) })),
      "FAILED",
    ],
  ])(
    "a handler with an expired lease does not hold up %s, because the task has already failed",
    async (_, call, code) => {
      const { clock, gone, other, taskId } = await stuck();
      await clock.advance(14_000);
      expect(stateOf(await other.get(taskId))).toBe("WORKING");
      await clock.advance(1500);
      await expect(call(other, taskId)).rejects.toMatchObject({ code });
      await other[Symbol.asyncDispose]();
      await gone[Symbol.asyncDispose]();
    },
  );
});
