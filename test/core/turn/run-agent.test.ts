import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import { merge } from "../../../src/core/turn/run-agent.js";
import { type AgentEvent, artifact, completed, working } from "../../../src/protocol/events.js";
import { startHandler } from "../../support/handler.js";
import { itemsOf } from "../../support/items.js";
import { stateOf, taskOf, textIn } from "../../support/say.js";
import { settle } from "../../support/virtual-clock.js";

const foreign = { ...working(), taskId: "another" };

/** The texts of artifact events. */
const textOfEvent = (event: AgentEvent): string =>
  event.$typeName === "lf.a2a.v1.TaskArtifactUpdateEvent" ? textIn(event.artifact?.parts) : event.$typeName;

const sorted = (names: readonly string[]): string[] => names.toSorted((a, b) => a.localeCompare(b));

async function* texts(name: string, count: number): AsyncGenerator<AgentEvent> {
  for (let index = 1; index <= count; index++) yield artifact(`${name}${index}`);
}

describe("an agent may be", () => {
  const last = () => completed("done");
  it.each<[string, Agent, string]>([
    [
      "a generator",
      async function* () {
        yield last();
      },
      "done",
    ],
    [
      "a generator that returns its last event",
      async function* () {
        return last();
      },
      "done",
    ],
    ["a function that gives a promise of one event", async () => last(), "done"],
    ["a function that emits", async ({ emit }) => emit(last()), "done"],
    ["a function that emits and does not wait", async ({ emit }) => void emit(last()), "done"],
    ["a function that gives nothing", async () => {}, ""],
    ["a function that is not asynchronous and gives nothing", (() => undefined) as never, ""],
    ["a function that is not asynchronous and gives an event", (() => last()) as never, "done"],
    ["a generator that says nothing", async function* () {}, ""],
    ["an iterable made by hand", () => ({ [Symbol.asyncIterator]: () => texts("x", 1) }), ""],
  ])("an agent may be %s", async (_, agent, expected) => {
    await using served = startHandler({ agent });
    const task = taskOf(await served.send("go"));
    expect([stateOf(task), textIn(task.status?.message?.parts)]).toEqual(["COMPLETED", expected]);
  });
});

it.each<[string, unknown, string]>([
  ["a text", "hello", "events, such as reply(text) or artifact(text), not a string"],
  ["a list", [completed()], "messages, status and artifact events, not a list of events: write `async function*`"],
])("an agent that returns %s fails the call, and the error names what to return", async (_, result, text) => {
  await using served = startHandler({ agent: (async () => result) as never });
  await expect(served.send("go")).rejects.toThrow(`an agent emits ${text}`);
});

it("an iterator without throw() is closed, and fails its turn with the refusal of its event", async () => {
  let closed = 0;
  const events = [working(), foreign, working()].values();
  await using served = startHandler({
    agent: () => ({
      [Symbol.asyncIterator]: () => ({
        next: async () => events.next(),
        return: async () => ({ done: true, value: closed++ }),
      }),
    }),
  });
  expect(stateOf(taskOf(await served.send("go")))).toBe("FAILED");
  expect(closed).toBe(1);
});

describe("merged generators", () => {
  it("merged generators yield all events, those of each generator in order", async () => {
    const merged = (await itemsOf(merge(texts("a", 3), texts("b", 1), texts("c", 2)))).map(textOfEvent);
    expect(sorted(merged)).toEqual(["a1", "a2", "a3", "b1", "c1", "c2"]);
    expect(merged.filter((text) => text.startsWith("a"))).toEqual(["a1", "a2", "a3"]);
  });

  it("merged generators yield nothing for no generators", async () => {
    expect(await itemsOf(merge())).toEqual([]);
  });

  it("merged generators get their turn, however many events another generator has ready", async () => {
    const merged = (await itemsOf(merge(texts("a", 100), texts("b", 100)))).map(textOfEvent);
    for (let index = 0; index < merged.length; index += 20) {
      const share = merged.slice(index, index + 20).filter((text) => text.startsWith("a")).length;
      expect(share).toBeGreaterThanOrEqual(9);
      expect(share).toBeLessThanOrEqual(11);
    }
  });

  it("merged generators do not wait for a silent generator", async () => {
    const gate = Promise.withResolvers<void>();
    async function* slow() {
      await gate.promise;
      yield artifact("slow");
    }
    const eventTexts: string[] = [];
    for await (const event of merge(slow(), texts("a", 3))) {
      eventTexts.push(textOfEvent(event));
      if (eventTexts.length === 3) gate.resolve();
    }
    expect(eventTexts).toEqual(["a1", "a2", "a3", "slow"]);
  });

  /** An endless source that records when it is closed. */
  function endless(name: string, closed: string[], pause?: Promise<void>) {
    return (async function* (): AsyncGenerator<AgentEvent> {
      try {
        for (;;) {
          yield artifact(name);
          await pause;
        }
      } finally {
        closed.push(name);
      }
    })();
  }

  async function* failingSource(): AsyncGenerator<AgentEvent> {
    yield artifact("broken");
    throw new Error("broken");
  }

  it("merged generators are closed when one of them throws, and its error is rethrown", async () => {
    const closed: string[] = [];
    await expect(itemsOf(merge(endless("a", closed), failingSource(), endless("b", closed)))).rejects.toThrow("broken");
    expect(sorted(closed)).toEqual(["a", "b"]);
  });

  it("merged generators do not delay the error of one while another hangs", async () => {
    const never = new Promise<void>(() => {});
    await expect(itemsOf(merge(endless("stuck", [], never), failingSource()))).rejects.toThrow("broken");
  });

  it("merged generators may throw while the consumer is busy, without an unhandled rejection", async () => {
    const events: unknown[] = [];
    const hear = (reason: unknown): void => void events.push(reason);
    process.on("unhandledRejection", hear);
    const read = async () => {
      for await (const _ of merge(failingSource(), texts("a", 1))) await settle();
    };
    await expect(read()).rejects.toThrow("broken");
    process.off("unhandledRejection", hear);
    expect(events).toEqual([]);
  });

  it("merged generators resume when their event is accepted, not before", async () => {
    const steps: string[] = [];
    async function* source() {
      yield artifact("a");
      steps.push("went on");
    }
    for await (const _ of merge(source())) {
      await settle();
      steps.push("accepted");
    }
    expect(steps).toEqual(["accepted", "went on"]);
  });

  it("merged generators may each continue after a refused event", async () => {
    async function* learning(): AsyncGenerator<AgentEvent> {
      try {
        yield foreign;
      } catch {
        yield artifact("learnt");
      }
    }
    await using served = startHandler({ agent: () => merge(learning(), texts("a", 3)) });
    const task = taskOf(await served.send("go"));
    expect(stateOf(task)).toBe("COMPLETED");
    expect(sorted(task.artifacts.map(({ parts }) => textIn(parts)))).toEqual(["a1", "a2", "a3", "learnt"]);
  });

  it("merged generators are closed when the consumer leaves", async () => {
    const closed: string[] = [];
    for await (const _ of merge(endless("a", closed), endless("b", closed))) break;
    expect(sorted(closed)).toEqual(["a", "b"]);
  });

  it("merged generators are closed when an event of one is refused, which fails the turn", async () => {
    const closed: string[] = [];
    async function* bad() {
      yield foreign;
    }
    await using served = startHandler({
      async *agent() {
        yield working();
        yield* merge(endless("a", closed), bad(), endless("b", closed));
      },
    });
    expect(stateOf(taskOf(await served.send("go")))).toBe("FAILED");
    expect(sorted(closed)).toEqual(["a", "b"]);
  });
});
