import { describe, expect, it } from "vitest";
import { type CoreLimits, defaultCoreLimits } from "../../src/core/limits.js";
import { RunningMemory } from "../../src/core/running-memory.js";
import { ProcessSlots, TurnSlots } from "../../src/core/turn-slots.js";
import { A2AError } from "../../src/protocol/errors.js";
import { working } from "../../src/protocol/events.js";
import { startHandler } from "../support/handler.js";
import { errorOf } from "../support/say.js";
import { createVirtualClock, settle } from "../support/virtual-clock.js";

const kibibyte = 1024;

describe("the messages that wait for a turn", () => {
  it("the messages that wait for a turn take at most the limit of bytes, and each owner half of the rest", async () => {
    await using served = startHandler({
      limits: { turnsPerProcess: 1, turnWaitMaxBytes: 1000 * kibibyte },
      async agent({ emit, signal }) {
        await emit(working());
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      },
    });
    const refusedAtOnce: string[] = [];
    const refused: Promise<unknown>[] = [];
    const send = (owner: string, bytes: number): void => {
      let isAtOnce = true;
      const caller = { principal: { owner } };
      const configuration = { returnImmediately: true };
      refused.push(
        errorOf(served.send("x".repeat(bytes), { configuration }, caller)).then(() => {
          if (isAtOnce) refusedAtOnce.push(owner);
        }),
      );
      served.clock.after(1, () => {
        isAtOnce = false;
      });
    };
    await served.send("go", { configuration: { returnImmediately: true } });
    for (let count = 0; count < 6; count++) send("alice", 100 * kibibyte);
    for (let count = 0; count < 4; count++) send("bob", 100 * kibibyte);
    // One send of an owner may always wait.
    send("carol", 2000 * kibibyte);
    await settle();
    const count = (owner: string) => refusedAtOnce.filter((each) => each === owner).length;
    expect([count("alice"), count("bob"), count("carol")]).toEqual([2, 2, 0]);
    await served.clock.advance(2000);
    expect(await Promise.all(refused)).toHaveLength(11);
  });
});

/** Agents of one process, by their limits. */
function createAgents(turnsPerProcess: number, ...agents: readonly Partial<CoreLimits>[]) {
  const clock = createVirtualClock();
  const limits = { ...defaultCoreLimits, turnsPerProcess };
  const process = new ProcessSlots(limits, new RunningMemory(clock, limits), undefined);
  const slots = agents.map((own) => new TurnSlots(process, { ...defaultCoreLimits, ...own }, clock));
  return { clock, process, slots };
}

const scopeOf = (owner: string) => ({ agent: "", tenant: "", owner });

function runTurn(slots: TurnSlots, owner: string, ofCallers: readonly Parameters<typeof slotOf>[0][] = []) {
  const aborts: string[] = [];
  const turn = {
    start: { scope: scopeOf(owner), slots: ofCallers.map(slotOf) },
    bytes: 0,
    abort: (kind: string) => void aborts.push(kind),
    releaseWaiting: () => void aborts.push("let go"),
    inbox: { isWaiting: false, messages: 0 },
  };
  slots.enter(turn);
  return { aborts, end: () => slots.leave(turn) };
}

const slotOf = (key: string) => ({ key, max: 1, refusal: () => new A2AError("resourceExhausted", `one ${key}`) });

/** Sends, and notes which of them start. A turn that starts ends at once. */
function createSender() {
  const started: string[] = [];
  const send = (slots: TurnSlots, owner: string, ofCallers: readonly string[] = []): Promise<unknown> => {
    const room = slots.waitForRoom({ scope: scopeOf(owner), slots: ofCallers.map(slotOf) }, 1);
    if (room === undefined) throw new Error("it need not wait");
    return room.then((free) => {
      started.push(owner);
      return free;
    });
  };
  return { started, send };
}

describe("the slots of turns", () => {
  it("slots of turns are offered to the agents of a process in turns, and to their owners in turns", async () => {
    const { slots } = createAgents(2, {}, {});
    const [one, other] = slots;
    if (one === undefined || other === undefined) throw new Error("there are two agents");
    const first = runTurn(one, "x");
    runTurn(other, "y");
    const { started, send } = createSender();
    const sends = [send(one, "a"), send(one, "a"), send(other, "b"), send(other, "c")];
    first.end();
    await settle();
    expect(started).toEqual(["a"]);
    for (const next of [0, 2, 1]) {
      const free = await sends[next];
      if (typeof free === "function") free();
      await settle();
    }
    expect(started).toEqual(["a", "b", "a", "c"]);
  });

  it("slots of turns start all sends that wait when a limit is raised", async () => {
    const { slots } = createAgents(10, { turnsPerProcess: 1 });
    const [agent] = slots;
    if (agent === undefined) throw new Error("there is one agent");
    runTurn(agent, "a");
    const { started, send } = createSender();
    void send(agent, "a");
    void send(agent, "a");
    agent.limit({ ...defaultCoreLimits, turnsPerProcess: 5 });
    await settle();
    expect(started).toEqual(["a", "a"]);
    expect(agent.queued).toBe(0);
  });

  it("a send behind one that waits for another slot is refused with an error, though it may start itself", async () => {
    const { clock, slots } = createAgents(10, { turnsPerOwner: 2 });
    const [agent] = slots;
    if (agent === undefined) throw new Error("there is one agent");
    const running = runTurn(agent, "a", ["skill"]);
    const { started, send } = createSender();
    const refusals = [errorOf(send(agent, "a", ["skill"])), errorOf(send(agent, "a")), errorOf(send(agent, "a"))];
    await clock.advance(1000);
    expect(await Promise.all(refusals)).toMatchObject([
      { message: "one skill" },
      { metadata: { limit: "turnsPerOwner" } },
      { metadata: { limit: "turnsPerOwner" } },
    ]);
    running.end();
    expect([started, agent.queued, agent.isIdle]).toEqual([[], 0, true]);
  });

  it("the freed slot of a caller is offered to all agents", async () => {
    const { slots } = createAgents(10, {}, {});
    const [one, other] = slots;
    if (one === undefined || other === undefined) throw new Error("there are two agents");
    const running = runTurn(one, "a", ["address"]);
    const { started, send } = createSender();
    const waiting = send(other, "a", ["address"]);
    await settle();
    expect(started).toEqual([]);
    running.end();
    expect(await waiting).toBeTypeOf("function");
  });

  it("slots of turns hold up a shutdown while turns run and while something may start one", async () => {
    const { slots } = createAgents(10, {});
    const [agent] = slots;
    if (agent === undefined) throw new Error("there is one agent");
    const running = runTurn(agent, "a");
    const release = agent.holdShutdown();
    let isIdle = false;
    void agent.idle().then(() => {
      isIdle = true;
    });
    running.end();
    await settle();
    expect([isIdle, agent.isIdle]).toEqual([false, false]);
    release();
    release();
    await settle();
    expect([isIdle, agent.isIdle]).toEqual([true, true]);
  });

  it("a drain of an agent aborts the turns that run, and those that start later", () => {
    const { slots } = createAgents(10, {});
    const [agent] = slots;
    if (agent === undefined) throw new Error("there is one agent");
    const running = runTurn(agent, "a");
    agent.drain();
    const late = runTurn(agent, "b");
    expect([running.aborts, late.aborts]).toEqual([["Draining"], ["Draining"]]);
    running.end();
    running.end();
    late.end();
    expect(agent.isIdle).toBe(true);
  });
});
