import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import type { TaskStore } from "../../../src/core/ports.js";
import { artifact, inputRequired, park, working } from "../../../src/protocol/events.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { startHandler, type TestHandler } from "../../support/handler.js";
import { historyOf, openStream, stateOf, taskOf, textIn } from "../../support/say.js";
import { createVirtualClock, settle, turnUntil, type VirtualClock } from "../../support/virtual-clock.js";

const alice = { agent: "", tenant: "", owner: "alice" };
const forEver = new Promise<never>(() => {});

/** Starts and kills processes on one store; a killed process never reaches the store again. */
function place() {
  const clock = createVirtualClock();
  const store = memoryTaskStore({ clock });
  const start = (agent: Agent, restartable = true): TestHandler & { die(): void } => {
    const line = { cut: false };
    const served = startHandler({ agent, clock, restartable, store: cutOff(store, line) });
    return {
      ...served,
      die() {
        line.cut = true;
      },
    };
  };
  return { clock, store, start };
}

/** The store as seen by a process that is stalled from some moment on. */
function cutOff(store: TaskStore, line: { cut: boolean }): TaskStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: readonly unknown[]) => (line.cut ? forEver : Reflect.apply(member, target, args));
    },
  });
}

interface TurnFacts {
  readonly cause: string;
  readonly attempt: number;
  readonly text: string;
  readonly wake: unknown;
  readonly history: number;
}

/** An agent that records its turns, writes half of its artifact, and stays as long as it is told to. */
function halting(stays: (turn: TurnFacts) => boolean) {
  const turns: TurnFacts[] = [];
  const agent: Agent = async function* ({ cause, attempt, text, wake, history }) {
    const turn = { cause, attempt, text, wake, history: (await history()).length };
    turns.push(turn);
    yield artifact(`half ${attempt}`);
    if (stays(turn)) await forEver;
    yield artifact(`rest ${attempt}`);
  };
  return { agent, turns };
}

async function startTask(served: TestHandler): Promise<string> {
  const stream = await openStream(served.stream("go", { metadata: { trace: 1 } }, { extensions: ["urn:x"] }));
  await settle();
  return taskOf(stream.firstItem.response).id;
}

describe("an orphaned restartable turn", () => {
  it("an orphaned restartable turn has no headers, since they are not stored", async () => {
    const { clock, start } = place();
    const headers: unknown[] = [];
    const agent: Agent = async function* ({ attempt, header }) {
      headers.push(header("x-user"));
      yield working();
      if (attempt === 1) await forEver;
    };
    const first = start(agent);
    await openStream(first.stream("go", {}, { header: () => "alice" }));
    await settle();
    first.die();
    await using _ = start(agent);
    await clock.advance(19_000);
    expect(headers).toEqual(["alice", undefined]);
  });

  it("an orphaned restartable turn is run again by another process, and replaces its partial output", async () => {
    const { clock, store, start } = place();
    const { agent, turns } = halting(({ attempt }) => attempt === 1);
    const first = start(agent);
    const taskId = await startTask(first);
    first.die();
    await using second = start(agent);
    await clock.advance(14_000);
    expect(turns.length).toBe(1);
    await clock.advance(5_000);
    const message = { text: "go", wake: undefined, history: 1 };
    expect(turns).toEqual([
      { cause: "message", attempt: 1, ...message },
      { cause: "restart", attempt: 2, ...message },
    ]);
    const task = await second.get(taskId);
    expect([stateOf(task), ...task.artifacts.map(({ artifactId, parts }) => `${artifactId} ${textIn(parts)}`)]).toEqual(
      ["COMPLETED", "1.1 half 2", "1.2 rest 2"],
    );
    expect(historyOf(task)).toEqual(["user: go"]);
    expect(await store.head(alice, taskId)).toMatchObject({ turn: 1, epoch: 2, holder: "" });
  });

  it("a restartable turn stays with its live holder, however many processes start", async () => {
    const { clock, store, start } = place();
    const { agent, turns } = halting(() => true);
    await using first = start(agent);
    const taskId = await startTask(first);
    const before = await store.head(alice, taskId);
    await using second = start(agent);
    await using third = start(agent, false);
    await clock.advance(60_000);
    expect(await store.head(alice, taskId)).toEqual(before);
    expect(turns.length).toBe(1);
    expect([second, third].map(({ log }) => log)).toEqual([[], []]);
  });

  it("an orphaned restartable turn runs again at most three times, then its task fails with the reason", async () => {
    const { clock, store, start } = place();
    const { agent, turns } = halting(() => true);
    let last = start(agent);
    const taskId = await startTask(last);
    for (let deaths = 0; deaths < 4; deaths++) {
      last.die();
      last = start(agent);
      await clock.advance(20_000);
    }
    expect(turns.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4]);
    const task = await last.get(taskId);
    expect([stateOf(task), textIn(task.status?.message?.parts)]).toEqual([
      "FAILED",
      "the task was tried 4 times, and each time the process has gone",
    ]);
    expect(await store.head(alice, taskId)).toMatchObject({ holder: "" });
    await turnUntil(clock, last.handler.close());
  });

  it("an orphaned turn fails its task when the agent is not restartable", async () => {
    const { clock, start } = place();
    const { agent, turns } = halting(() => true);
    const first = start(agent, false);
    const taskId = await startTask(first);
    first.die();
    await using second = start(agent, false);
    await clock.advance(20_000);
    const task = await second.get(taskId);
    expect([stateOf(task), textIn(task.status?.message?.parts)]).toEqual([
      "FAILED",
      "the process that worked on the task has gone",
    ]);
    expect(turns.length).toBe(1);
  });

  it("an orphaned turn is run again by the first message that finds it, and takes that message", async () => {
    const { clock, start } = place();
    const answers: string[] = [];
    const agent: Agent = async ({ attempt, ask }) => {
      if (attempt === 1) await forEver;
      answers.push(textIn((await ask(inputRequired("?"))).parts));
    };
    const first = start(agent);
    void first.send("go", { configuration: { returnImmediately: true } });
    await settle();
    const taskId = (await first.store.list(alice, { limit: 1 })).tasks[0]?.head.id ?? "";
    await using second = start(agent);
    first.die();
    await clock.advance(13_000);
    const response = second.send("more", { taskId });
    await clock.advance(6_000);
    expect(stateOf(taskOf(await response))).toBe("COMPLETED");
    expect(answers).toEqual(["more"]);
  });

  it("an orphaned turn is canceled without running again", async () => {
    const { clock, store, start } = place();
    const { agent, turns } = halting(() => true);
    const first = start(agent);
    const taskId = await startTask(first);
    await using second = startHandler({ agent, clock, store, restartable: true });
    await clock.advance(4000);
    first.die();
    await store.retire((await store.head(alice, taskId))?.holder ?? "");
    expect(stateOf(await second.cancel(taskId))).toBe("CANCELED");
    expect(turns.length).toBe(1);
  });

  it("an orphaned turn that a wake started gets its data and its message again", async () => {
    const { clock, store, start } = place();
    const turns: unknown[] = [];
    const agent: Agent = async ({ cause, attempt, text, wake, metadata, extensions, emit }) => {
      turns.push([cause, attempt, text, wake, metadata, extensions]);
      if (cause === "message") return park();
      await emit(working());
      if (attempt < 3) await forEver;
      return undefined;
    };
    const first = start(agent);
    const taskId = await startTask(first);
    await first.handler.wake(alice, taskId, { paid: true });
    first.die();
    const second = start(agent);
    await clock.advance(20_000);
    second.die();
    await using third = start(agent);
    await clock.advance(20_000);
    const rest = ["go", { paid: true }, { trace: 1 }, ["urn:x"]];
    expect(turns.slice(1)).toEqual([
      ["wake", 1, ...rest],
      ["restart", 2, ...rest],
      ["restart", 3, ...rest],
    ]);
    expect(stateOf(await third.get(taskId))).toBe("COMPLETED");
    expect(await store.head(alice, taskId)).toMatchObject({ turn: 2 });
  });
});

/** Closes a handler like a server with no drain time left. */
async function drained(clock: VirtualClock, { handler }: TestHandler): Promise<void> {
  await turnUntil(clock, handler.drain(0));
  await turnUntil(clock, handler.close());
}

describe("a process that is shut down", () => {
  it("a process that is shut down hands its restartable turns to another, which counts no failure", async () => {
    const { clock, start } = place();
    const { agent, turns } = halting(({ cause }) => cause === "message");
    const first = start(agent);
    const taskId = await startTask(first);
    await using second = start(agent);
    await drained(clock, first);
    await clock.advance(3_000);
    const task = await second.get(taskId);
    expect(stateOf(task)).toBe("COMPLETED");
    expect(turns.map(({ cause, attempt }) => `${cause} ${attempt}`)).toEqual(["message 1", "restart 1"]);
  });

  it("a process that is shut down stores what an aborted turn emits, and its end if it has one", async () => {
    const { clock, start } = place();
    const agent: Agent = async ({ emit, signal }) => {
      await emit(working());
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      await emit(artifact("saved")).catch(() => emit(artifact("saved at last", { lastChunk: true })));
      return undefined;
    };
    const first = start(agent);
    const taskId = await startTask(first);
    await drained(clock, first);
    await using second = start(async () => {});
    const { artifacts } = await second.get(taskId);
    expect(artifacts.map(({ parts }) => textIn(parts))).toEqual(["saved at last"]);
    await clock.advance(3_000);
    expect(stateOf(await second.get(taskId))).toBe("COMPLETED");
  });

  it("a process that is shut down fails the tasks of turns that are not restartable", async () => {
    const { clock, start } = place();
    const { agent } = halting(() => true);
    const first = start(agent, false);
    const taskId = await startTask(first);
    await drained(clock, first);
    await using second = start(agent, false);
    const task = await second.get(taskId);
    expect([stateOf(task), textIn(task.status?.message?.parts)]).toEqual([
      "FAILED",
      "the server was shut down before the task was done",
    ]);
  });
});
