import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import { callMethod, createPort, type TaskStore, taskCalls } from "../../../src/core/ports.js";
import { type CoreProcess, createCoreProcess } from "../../../src/core/process.js";
import { artifact, inputRequired, reply, working } from "../../../src/protocol/events.js";
import { silentLogger } from "../../../src/protocol/logger.js";
import { processSignals } from "../../../src/signals/in-process.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { contextOf, startHandler, type TestHandler } from "../../support/handler.js";
import { errorOf, linesOf, messageOf, openStream, requestOf, say, stateOf, taskOf, textIn } from "../../support/say.js";
import { createVirtualClock, settle, type VirtualClock } from "../../support/virtual-clock.js";

interface House {
  readonly process: CoreProcess;
  readonly clock: VirtualClock;
  /** How often each instance was renewed. */
  readonly renewals: Map<string, number>;
  open(agentId: string, agent: Agent, limits?: Parameters<typeof startHandler>[0]["limits"]): TestHandler;
  [Symbol.asyncDispose](): Promise<void>;
}

/** One process over one store, for any number of agents. */
function house(limits: Parameters<typeof createCoreProcess>[0]["limits"] = {}): House {
  const clock = createVirtualClock();
  const memory = memoryTaskStore({ clock });
  const renewals = new Map<string, number>();
  const calls = createPort<Omit<TaskStore, "close">>(taskCalls, (method) => (...args) => {
    if (method === "renew") renewals.set(String(args[0]), (renewals.get(String(args[0])) ?? 0) + 1);
    return callMethod(memory, method, args);
  });
  const store = { ...calls, close: () => memory.close() };
  const process = createCoreProcess({ store, clock, signals: processSignals, logger: silentLogger, limits });
  const handlers: TestHandler[] = [];
  return {
    process,
    clock,
    renewals,
    open(agentId, agent, own) {
      const handler = startHandler({ agent, agentId, store, clock, process, limits: { ...limits, ...own } });
      handlers.push(handler);
      return handler;
    },
    async [Symbol.asyncDispose]() {
      for (const handler of handlers) await handler[Symbol.asyncDispose]();
      await process.close();
    },
  };
}

const asks: Agent = async function* ({ ask }) {
  const answer = await ask(inputRequired("?"));
  yield artifact(textIn(answer.parts), { artifactId: "a" });
};

/** An agent whose turns wait until they are let go, the oldest first. */
function gate(): { readonly agent: Agent; open(): void } {
  const resolvers: (() => void)[] = [];
  return {
    async *agent() {
      yield working();
      await new Promise<void>((resolve) => resolvers.push(resolve));
    },
    open: () => resolvers.shift()?.(),
  };
}

describe("agents of one process", () => {
  it("agents of one process share one lease and see only their own tasks", async () => {
    await using here = house();
    const weather = here.open("weather", asks);
    const travel = here.open("travel", asks);
    await settle();
    const task = taskOf(await weather.send("go"));
    expect(await errorOf(travel.get(task.id))).toMatchObject({ code: "taskNotFound" });
    expect(await errorOf(travel.send("x", { taskId: task.id }))).toMatchObject({ code: "taskNotFound" });
    expect(await errorOf(travel.cancel(task.id))).toMatchObject({ code: "taskNotFound" });
    await here.clock.advance(9_000);
    expect([...here.renewals.values()]).toEqual([4]);
    expect(stateOf(taskOf(await weather.send("now", { taskId: task.id })))).toBe("COMPLETED");
  });

  it("agents of one process share the room for turns, and wait for it one agent after another", async () => {
    await using here = house({ turnsPerProcess: 2, turnWaitMs: 1_000 });
    const [one, two] = [gate(), gate()];
    const [first, second] = [here.open("first", one.agent), here.open("second", two.agent)];
    const answers = here.open("answers", async () => reply("done"));
    await openStream(first.stream("go"));
    await openStream(second.stream("go"));
    const waiting = answers.send("hello");
    await settle();
    two.open();
    expect((await waiting).payload.case).toBe("message");
    await openStream(second.stream("again"));
    const refused = errorOf(answers.send("hello"));
    await settle();
    await here.clock.advance(1_000);
    expect(await refused).toMatchObject({
      code: "unavailable",
      message: "too many turns in the process: the limit is 2 (turnsPerProcess)",
    });
    one.open();
    two.open();
  });

  it("agents of one process may have a smaller room of their own", async () => {
    await using here = house({ turnWaitMs: 0 });
    const held = gate();
    const small = here.open("small", held.agent, { turnsPerProcess: 1 });
    const other = here.open("other", async () => reply("done"));
    await openStream(small.stream("go"));
    expect(await errorOf(small.send("more"))).toMatchObject({
      message: "too many turns of the agent: the limit is 1 (turnsPerProcess)",
    });
    expect((await other.send("hello")).payload.case).toBe("message");
    held.open();
  });

  it("agents that are closed leave the process as it is, and are found again", async () => {
    await using here = house();
    const weather = here.open("weather", asks);
    const travel = here.open("travel", asks);
    const task = taskOf(await weather.send("go"));
    const other = taskOf(await travel.send("go"));
    await weather[Symbol.asyncDispose]();
    expect(stateOf(taskOf(await travel.send("now", { taskId: other.id })))).toBe("COMPLETED");
    const again = here.open("weather", asks);
    expect(stateOf(await again.get(task.id))).toBe("INPUT_REQUIRED");
    // Its turn ended with the handler, so the message starts another one.
    expect(stateOf(taskOf(await again.send("go", { taskId: task.id })))).toBe("INPUT_REQUIRED");
    expect(stateOf(taskOf(await again.send("now", { taskId: task.id })))).toBe("COMPLETED");
  });
});

describe("an agent that is replaced", () => {
  const says = (word: string): Agent => {
    return async function* ({ ask, text }) {
      if (text === "hello") return reply(word);
      const answer = await ask(inputRequired(`${word}?`));
      yield artifact(`${word} ${textIn(answer.parts)}`, { artifactId: "a" });
      return undefined;
    };
  };

  it("a replaced agent ends its running turns with their own code, through the new handler", async () => {
    await using here = house();
    const old = here.open("weather", says("old"));
    const task = taskOf(await old.send("go"));
    const { operations } = old.handler.replacedBy({ agent: says("new"), logger: silentLogger });
    const send = (...message: Parameters<typeof say>) => operations.sendMessage(say(...message), contextOf());
    expect(textIn(messageOf(await old.send("hello")).parts)).toBe("old");
    expect(textIn(messageOf(await send("hello")).parts)).toBe("new");
    const ended = taskOf(await send("sun", { taskId: task.id }));
    expect([stateOf(ended), textIn(ended.artifacts[0]?.parts)]).toEqual(["COMPLETED", "old sun"]);
    const fresh = taskOf(await send("go"));
    const finished = taskOf(await send("rain", { taskId: fresh.id }));
    expect(textIn(finished.artifacts[0]?.parts)).toBe("new rain");
  });

  it("a replaced agent keeps the streams of its callers open", async () => {
    await using here = house();
    const held = gate();
    const old = here.open("weather", held.agent);
    const stream = await openStream(old.stream("go"));
    const { operations } = old.handler.replacedBy({ agent: says("new"), logger: silentLogger });
    const { id } = taskOf(stream.firstItem.response);
    const both = [
      stream.readRest(),
      linesOf(operations.subscribeToTask(requestOf("subscribeToTask", { id }), contextOf())),
    ];
    await settle();
    held.open();
    const [lines, linesAnew] = await Promise.all(both);
    expect(lines).toEqual(["status WORKING", "status COMPLETED"]);
    expect(linesAnew).toEqual(["task WORKING", "status COMPLETED"]);
  });

  it("a replaced agent is held to its new limits", async () => {
    await using here = house({ turnWaitMs: 0 });
    const held = gate();
    const old = here.open("weather", held.agent, { turnsPerOwner: 5 });
    await openStream(old.stream("go"));
    const { operations } = old.handler.replacedBy({
      agent: says("new"),
      logger: silentLogger,
      limits: { turnWaitMs: 0, turnsPerOwner: 1 },
    });
    expect(await errorOf(operations.sendMessage(say("hello"), contextOf()))).toMatchObject({
      message: "too many turns of this caller: the limit is 1 (turnsPerOwner)",
    });
    held.open();
  });
});
