import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import { A2AError } from "../../../src/protocol/errors.js";
import {
  type AgentEvent,
  artifact,
  canceled,
  completed,
  failed,
  inputRequired,
  rejected,
  reply,
  working,
} from "../../../src/protocol/events.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { startHandler } from "../../support/handler.js";
import { errorOf, historyOf, linesOf, stateOf, taskOf, textIn } from "../../support/say.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

const artifactOf = (text: string) => artifact(text, { artifactId: "a" });
const artifactLineOf = (text: string) => `artifact a "${text}"`;

/** An agent that asks on a new task, then yields these events. */
const continuing = (events: readonly AgentEvent[]): Agent =>
  async function* ({ task }) {
    if (task === undefined) yield inputRequired("more?");
    else yield* events;
  };

// The events, what a stream shows of them on a new task (after `task SUBMITTED`), and on a continued one (after the
// task).
const cases: readonly [string, readonly AgentEvent[], readonly string[], readonly string[]][] = [
  ["nothing", [], ["status COMPLETED"], ["status COMPLETED"]],
  [
    "an artifact",
    [artifactOf("x")],
    [artifactLineOf("x"), "status COMPLETED"],
    ["status WORKING", artifactLineOf("x"), "status COMPLETED"],
  ],
  [
    "artifacts",
    [artifactOf("x"), artifactOf("y")],
    [artifactLineOf("x"), artifactLineOf("y"), "status COMPLETED"],
    ["status WORKING", artifactLineOf("x"), artifactLineOf("y"), "status COMPLETED"],
  ],
  [
    "WORKING and an artifact",
    [working(), artifactOf("x")],
    ["status WORKING", artifactLineOf("x"), "status COMPLETED"],
    ["status WORKING", artifactLineOf("x"), "status COMPLETED"],
  ],
  ["a question", [inputRequired()], ["status INPUT_REQUIRED"], ["status INPUT_REQUIRED"]],
  ["COMPLETED", [completed()], ["status COMPLETED"], ["status COMPLETED"]],
  ["FAILED", [failed()], ["status FAILED"], ["status FAILED"]],
  ["REJECTED", [rejected()], ["status REJECTED"], ["status REJECTED"]],
  ["CANCELED", [canceled()], ["status CANCELED"], ["status CANCELED"]],
  ["things behind the end", [completed(), artifactOf("x"), failed()], ["status COMPLETED"], ["status COMPLETED"]],
  [
    "a reply behind an artifact",
    [artifactOf("x"), reply("y"), artifactOf("z")],
    [artifactLineOf("x"), "status COMPLETED"],
    ["status WORKING", artifactLineOf("x"), "status COMPLETED"],
  ],
];

describe("the stream of a turn that emits", () => {
  it.each(cases)("a new task streams the events of a turn that emits %s", async (_, events, lines) => {
    await using served = startHandler({
      agent: async function* () {
        yield* events;
      },
    });
    expect(await linesOf(served.stream("go"))).toEqual(["task SUBMITTED", ...lines]);
  });

  it.each(cases)("a continued task streams the events of a turn that emits %s", async (_, events, __, lines) => {
    await using served = startHandler({ agent: continuing(events) });
    const { id: taskId } = taskOf(await served.send("one"));
    expect(await linesOf(served.stream("two", { taskId }))).toEqual(["task INPUT_REQUIRED", ...lines]);
  });
});

describe("a turn", () => {
  it("a turn that is a reply alone is a message on a new task, and completes a continued one with it", async () => {
    await using served = startHandler({
      agent: async ({ text, task }) => (text === "ask" && task === undefined ? inputRequired("more?") : reply("so")),
    });
    expect(await linesOf(served.stream("go"))).toEqual(['message "so"']);
    const { id: taskId } = taskOf(await served.send("ask"));
    const task = taskOf(await served.send("ask", { taskId }));
    expect([stateOf(task), textIn(task.status?.message?.parts)]).toEqual(["COMPLETED", "so"]);
    expect(task.status?.message).toMatchObject({ taskId, contextId: task.contextId });
  });

  it.each<[string, readonly AgentEvent[], string]>([
    ["an artifact behind a question leaves the question open", [inputRequired("?"), artifactOf("x")], "INPUT_REQUIRED"],
    ["WORKING behind a question takes it back", [inputRequired("?"), working()], "COMPLETED"],
    ["the last question counts", [inputRequired("?"), working(), inputRequired("??")], "INPUT_REQUIRED"],
  ])("a turn ends as its last status says: %s", async (_, events, state) => {
    await using served = startHandler({
      agent: async function* () {
        yield* events;
      },
    });
    const { id } = taskOf(await served.send("go"));
    await settle();
    const task = await served.get(id);
    expect(stateOf(task)).toBe(state);
    expect((await served.store.head({ agent: "", tenant: "", owner: "alice" }, id))?.holder).toBe("");
  });

  it("a turn without events makes its task WORKING after a second, once", async () => {
    const gate = Promise.withResolvers<void>();
    await using served = startHandler({
      async *agent({ task }) {
        if (task === undefined) return yield inputRequired("more?");
        await gate.promise;
        yield artifactOf("x");
      },
    });
    const { id: taskId } = taskOf(await served.send("one"));
    const lines = linesOf(served.stream("two", { taskId }));
    await settle();
    expect(stateOf(await served.get(taskId))).toBe("INPUT_REQUIRED");
    await served.clock.advance(1000);
    expect(stateOf(await served.get(taskId))).toBe("WORKING");
    gate.resolve();
    expect(await lines).toEqual(["task INPUT_REQUIRED", "status WORKING", artifactLineOf("x"), "status COMPLETED"]);
  });

  it("a turn with an event in its first second gets no WORKING from the clock", async () => {
    const gate = Promise.withResolvers<void>();
    await using served = startHandler({
      async *agent() {
        yield artifactOf("x");
        await gate.promise;
      },
    });
    const lines = linesOf(served.stream("go"));
    await served.clock.advance(5000);
    gate.resolve();
    expect(await lines).toEqual(["task SUBMITTED", artifactLineOf("x"), "status COMPLETED"]);
  });
});

it("status times never run backwards within a task, even if the clock does", async () => {
  const clock = createVirtualClock();
  let aheadMs = 5000;
  const turned = { ...clock, now: () => clock.now() + aheadMs };
  await using served = startHandler({
    clock: turned,
    async *agent() {
      yield working();
      aheadMs = 0;
      yield inputRequired("?");
    },
  });
  const task = taskOf(await served.send("go"));
  expect(stateOf(task)).toBe("INPUT_REQUIRED");
  expect(task.status?.timestamp).toEqual(timestampFromMs(clock.now() + 5000));
  const continued = taskOf(await served.send("more", { taskId: task.id }));
  expect(continued.status?.timestamp).toEqual(task.status?.timestamp);
});

describe("an A2AError that an agent throws", () => {
  const refuse = (): never => {
    throw new A2AError("invalidParams", "not so", {
      violations: [{ field: "message.parts[0]", description: "is bad" }],
      metadata: { hint: "say good" },
      retryAfterMs: 1000,
    });
  };

  it("an A2AError before the first event of a later turn is the answer in another handler too", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const gate = Promise.withResolvers<void>();
    const agent: Agent = async function* ({ text }) {
      if (text === "bad") refuse();
      yield working();
      await gate.promise;
      yield inputRequired("more?");
    };
    await using here = startHandler({ agent, clock, store });
    await using there = startHandler({ agent, clock, store });
    const running = linesOf(here.stream("go"));
    await settle();
    const [first] = (await here.store.list({ agent: "", tenant: "", owner: "alice" }, { limit: 1 })).tasks;
    const taskId = first?.head.id ?? "";
    const answers = [errorOf(there.send("bad", { taskId })), errorOf(there.stream("bad", { taskId }))];
    await settle();
    gate.resolve();
    const all = { code: "invalidParams", message: "not so", metadata: { hint: "say good" }, retryAfterMs: 1000 };
    for (const answer of answers) expect((await answer).violations).toHaveLength(1);
    for (const answer of answers) expect(await answer).toMatchObject(all);
    await running;
    const task = await there.get(taskId);
    expect(stateOf(task)).toBe("INPUT_REQUIRED");
    expect(historyOf(task)).toEqual(["user: go", "agent: more?", "user: bad", "user: bad"]);
  });

  it.each<[string, Agent]>([
    [
      "after a second, when its task is there",
      async function* ({ task, signal: _ }) {
        if (task === undefined) {
          await gate.promise;
          refuse();
        }
      },
    ],
  ])("an A2AError that an agent throws %s fails the task with its message", async (_, agent) => {
    await using served = startHandler({ agent });
    const answer = served.send("go");
    await served.clock.advance(1000);
    gate.resolve();
    const task = taskOf(await answer);
    expect([stateOf(task), textIn(task.status?.message?.parts)]).toEqual(["FAILED", "not so"]);
  });

  const gate = Promise.withResolvers<void>();
});
