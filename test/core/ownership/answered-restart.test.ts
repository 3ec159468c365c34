import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import type { TaskStore } from "../../../src/core/ports.js";
import { artifact, authRequired, completed, inputRequired, working } from "../../../src/protocol/events.js";
import { idempotentSendExtension } from "../../../src/protocol/extensions.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { startHandler, type TestHandler } from "../../support/handler.js";
import { errorOf, historyOf, linesOf, stateOf, taskOf, textIn } from "../../support/say.js";
import { createVirtualClock, settle, turnUntil, type VirtualClock } from "../../support/virtual-clock.js";

// A turn of a restartable agent that waits for its caller when its process goes.

const forEver = new Promise<never>(() => {});

interface Place {
  readonly clock: VirtualClock;
  readonly store: TaskStore;
  readonly turns: string[];
  readonly agent: Agent;
}

/** An agent that orders a thing in the color that its caller names. */
function place(asks: (color: string) => ReturnType<typeof inputRequired> = () => inputRequired("which color?")): Place {
  const clock = createVirtualClock();
  const turns: string[] = [];
  const agent: Agent = async function* ({ text, cause, attempt, ask }) {
    turns.push(`${cause} ${attempt} ${text}`);
    yield working("looking");
    const answer = await ask(asks(""));
    yield artifact(`${text} in ${textIn(answer.parts)}`, { artifactId: "a" });
    yield completed();
  };
  return { clock, store: memoryTaskStore({ clock }), turns, agent };
}

function start({ clock, store, agent }: Place): TestHandler {
  return startHandler({ clock, store, agent, restartable: true });
}

/** A process whose way to the store can be cut for good. */
function mortal(here: Place): TestHandler & { die(): void } {
  let isDead = false;
  const store = new Proxy(here.store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: readonly unknown[]) => (isDead ? forEver : Reflect.apply(member, target, args));
    },
  });
  return Object.assign(start({ ...here, store }), { die: () => (isDead = true) });
}

const ways = {
  /** Its server shuts down. */
  async drained(here: Place): Promise<string> {
    const first = start(here);
    const { id } = taskOf(await first.send("a lamp"));
    // No time needs to pass.
    await first.handler.drain(10_000);
    await turnUntil(here.clock, first.handler.close());
    return id;
  },
  /** Its process dies, and another one notices. */
  async killed(here: Place): Promise<string> {
    const first = mortal(here);
    const { id } = taskOf(await first.send("a lamp"));
    first.die();
    return id;
  },
};

describe.each(["drained", "killed"] as const)("a restartable turn that waits for its caller and is %s", (way) => {
  it.each([
    ["INPUT_REQUIRED", () => inputRequired("which color?")],
    ["AUTH_REQUIRED", () => authRequired("which color?")],
  ] as const)(
    "a restartable turn is run again by the answer to its question at %s, and not before",
    async (state, asks) => {
      const here = place(asks);
      const taskId = await ways[way](here);
      await using second = start(here);
      await here.clock.advance(40_000);
      expect(here.turns).toEqual(["message 1 a lamp"]);
      expect(await here.store.head({ agent: "", tenant: "", owner: "alice" }, taskId)).toMatchObject({ holder: "" });
      expect(stateOf(await second.get(taskId))).toBe(state);
      const task = taskOf(await second.send("red", { taskId }));
      expect([stateOf(task), textIn(task.artifacts[0]?.parts)]).toEqual(["COMPLETED", "a lamp in red"]);
      expect(here.turns).toEqual(["message 1 a lamp", "restart 1 a lamp"]);
      const questions = historyOf(task).filter((each) => each === "agent: which color?");
      expect([questions.length, historyOf(task).at(-1)]).toEqual([1, "user: red"]);
    },
  );

  it("a restartable turn answers the stream of the message that ran it again", async () => {
    const here = place();
    const taskId = await ways[way](here);
    await using second = start(here);
    await here.clock.advance(40_000);
    expect(await linesOf(second.stream("red", { taskId }))).toEqual([
      "task INPUT_REQUIRED",
      "status WORKING",
      'artifact a "a lamp in red"',
      "status COMPLETED",
    ]);
  });

  it("a restartable turn takes the answer once, even if the answer is sent again", async () => {
    const here = place();
    const taskId = await ways[way](here);
    await using second = start(here);
    await using third = start(here);
    await here.clock.advance(40_000);
    const once = { extensions: [idempotentSendExtension] };
    const message = { taskId, messageId: "m" };
    const answers = [
      second.send("red", message, once),
      third.send("red", message, once),
      second.send("red", message, once),
    ];
    await here.clock.advance(5000);
    for (const answer of answers) expect(stateOf(taskOf(await answer))).toBe("COMPLETED");
    expect(here.turns).toEqual(["message 1 a lamp", "restart 1 a lamp"]);
    expect(historyOf(await second.get(taskId)).filter((each) => each === "user: red")).toHaveLength(1);
  });

  it("a waiting restartable turn can be canceled, and does not run again", async () => {
    const here = place();
    const taskId = await ways[way](here);
    await using second = start(here);
    await here.clock.advance(40_000);
    expect(stateOf(await second.cancel(taskId))).toBe("CANCELED");
    expect(here.turns).toEqual(["message 1 a lamp"]);
  });

  it("a restartable turn that runs again asks the next question that it comes to", async () => {
    let questionCount = 0;
    const here = place(() => inputRequired(`question ${++questionCount}?`));
    const taskId = await ways[way](here);
    await using second = start(here);
    await here.clock.advance(40_000);
    const task = taskOf(await second.send("red", { taskId }));
    expect(stateOf(task)).toBe("COMPLETED");
    expect(historyOf(task)).toContain("agent: question 2?");
  });
});

it("a restartable turn is answered by a message that came before its process was known to be dead", async () => {
  const here = place();
  const taskId = await ways.killed(here);
  await using second = start(here);
  const response = second.send("red", { taskId });
  await settle();
  expect(here.turns).toEqual(["message 1 a lamp"]);
  await here.clock.advance(40_000);
  expect(textIn(taskOf(await response).artifacts[0]?.parts)).toBe("a lamp in red");
  expect(here.turns).toEqual(["message 1 a lamp", "restart 1 a lamp"]);
});

it("a turn that was to start at a task that asks is run again at once, since its message was taken", async () => {
  const clock = createVirtualClock();
  const turns: string[] = [];
  let isSlow = true;
  const agent: Agent = async ({ text, cause, attempt }) => {
    turns.push(`${cause} ${attempt} ${text}`);
    if (text === "a lamp") return inputRequired("which color?");
    if (isSlow) await forEver;
    return completed();
  };
  const here: Place = { clock, store: memoryTaskStore({ clock }), turns, agent };
  const first = mortal(here);
  const { id: taskId } = taskOf(await first.send("a lamp"));
  void first.send("red", { taskId });
  await settle();
  first.die();
  isSlow = false;
  await using second = start(here);
  await clock.advance(40_000);
  expect(turns).toEqual(["message 1 a lamp", "message 1 red", "restart 2 red"]);
  expect(stateOf(await second.get(taskId))).toBe("COMPLETED");
});

it("a message for which a task has no room does not run its turn again", async () => {
  const here = place();
  const taskId = await ways.drained(here);
  await using second = startHandler({ ...here, restartable: true, limits: { historyMaxMessages: 2 } });
  expect(await errorOf(second.send("red", { taskId }))).toMatchObject({ code: "resourceExhausted" });
  expect(here.turns).toEqual(["message 1 a lamp"]);
});

/** An agent that asks for a color, then for a size, and works on them for a minute. */
function tailor(clock: VirtualClock, colorQuestion: () => string = () => "which color?"): Place {
  const turns: string[] = [];
  const agent: Agent = async function* (turn) {
    turns.push(`${turn.cause} ${turn.attempt}`);
    const color = textIn((await turn.ask(inputRequired(colorQuestion()))).parts);
    const size = textIn((await turn.ask(inputRequired("which size?"))).parts);
    turns.push(`${color}, ${size}, ${turn.text}`);
    yield working("sewing");
    if (turn.cause === "message") await forEver;
    yield artifact(`${color} in ${size}`);
  };
  return { clock, store: memoryTaskStore({ clock }), turns, agent };
}

const questionsIn = (task: Parameters<typeof historyOf>[0]): string[] =>
  historyOf(task).filter((line) => line.startsWith("agent: which"));

describe("a restartable turn with several questions", () => {
  it("a restartable turn matches answers to questions when its process is killed before the last one", async () => {
    const here = tailor(createVirtualClock());
    const first = mortal(here);
    const { id: taskId } = taskOf(await first.send("a coat"));
    await first.send("red", { taskId });
    first.die();
    await using second = start(here);
    await here.clock.advance(40_000);
    const task = taskOf(await second.send("large", { taskId }));
    expect([stateOf(task), textIn(task.artifacts[0]?.parts)]).toEqual(["COMPLETED", "red in large"]);
    expect(here.turns).toEqual(["message 1", "restart 1", "red, large, large"]);
    expect(questionsIn(task)).toEqual(["agent: which color?", "agent: which size?"]);
  });

  it("a restartable turn asks no question again when its process is killed after the last answer", async () => {
    const here = tailor(createVirtualClock());
    const first = mortal(here);
    const { id: taskId } = taskOf(await first.send("a coat"));
    await first.send("red", { taskId });
    void first.send("large", { taskId });
    await settle();
    expect(here.turns.at(-1)).toBe("red, large, large");
    first.die();
    await using second = start(here);
    await here.clock.advance(40_000);
    const task = await second.get(taskId);
    expect([stateOf(task), textIn(task.artifacts[0]?.parts)]).toEqual(["COMPLETED", "red in large"]);
    expect(here.turns.slice(2)).toEqual(["restart 2", "red, large, large"]);
    expect(questionsIn(task)).toEqual(["agent: which color?", "agent: which size?"]);
  });

  it("a restartable turn asks a different question, and none that is answered already", async () => {
    let questionCount = 0;
    const here = tailor(createVirtualClock(), () => `which color, ${++questionCount}?`);
    const first = mortal(here);
    const { id: taskId } = taskOf(await first.send("a coat"));
    await first.send("red", { taskId });
    void first.send("large", { taskId });
    await settle();
    first.die();
    await using second = start(here);
    await here.clock.advance(40_000);
    expect(stateOf(await second.get(taskId))).toBe("INPUT_REQUIRED");
    const task = taskOf(await second.send("blue", { taskId }));
    expect(textIn(task.artifacts[0]?.parts)).toBe("blue in large");
    expect(questionsIn(task)).toEqual(["agent: which color, 1?", "agent: which size?", "agent: which color, 2?"]);
  });
});
