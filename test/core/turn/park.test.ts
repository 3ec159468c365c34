import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import { artifact, authRequired, inputRequired, park, working } from "../../../src/protocol/events.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { startHandler, type TestHandler, type TestHandlerOptions } from "../../support/handler.js";
import { errorOf, historyOf, openStream, stateOf, taskOf } from "../../support/say.js";
import { createVirtualClock, settle, turnUntil } from "../../support/virtual-clock.js";

const alice = { agent: "", tenant: "", owner: "alice" };

/** An agent that records its turns and parks in all of them, except those woken or sent `end`. */
function parking(options: Parameters<typeof park>[0] = {}) {
  const turns: string[] = [];
  const agent: Agent = async function* ({ cause, wake, text, attempt }) {
    turns.push(`${cause} ${attempt} ${text} ${JSON.stringify(wake)}`);
    if (wake === "end" || text === "end") return;
    yield artifact(`${turns.length}`);
    yield park(options);
  };
  return { agent, turns };
}

/** A handler with a task that its first turn parked. */
async function parked(options: TestHandlerOptions): Promise<TestHandler & { readonly taskId: string }> {
  const served = startHandler(options);
  const { id } = taskOf(await served.send("go", { configuration: { returnImmediately: true } }));
  await settle();
  return { ...served, taskId: id };
}

describe("a parked task", () => {
  it("a parked task is WORKING without a holder, and stays untouched until a message or wake arrives", async () => {
    const { agent, turns } = parking();
    await using served = await parked({ agent });
    const { clock, store, taskId } = served;
    await clock.advance(3_600_000);
    const head = await store.head(alice, taskId);
    expect(head).toMatchObject({ holder: "", turn: 1, epoch: 1, wakeAt: undefined });
    expect(stateOf(await served.get(taskId))).toBe("WORKING");
    expect(turns).toEqual(["message 1 go undefined"]);
  });

  it("a parked task continues with a wake's data and the previous message, and answers its send", async () => {
    const { agent, turns } = parking();
    await using served = startHandler({ agent });
    const stream = await openStream(served.stream("go"));
    const { id } = taskOf(stream.firstItem.response);
    await settle();
    const lines = stream.readRest();
    expect(await served.handler.wake(alice, id, { paid: [1, null] })).toBe(true);
    await settle();
    expect(await served.handler.wake(alice, id, "end")).toBe(true);
    expect(await lines).toEqual(['artifact 1.1 "1"', "status WORKING", 'artifact 2.1 "2"', "status COMPLETED"]);
    expect(turns).toEqual(["message 1 go undefined", 'wake 1 go {"paid":[1,null]}', 'wake 1 go "end"']);
    expect(historyOf(await served.get(id))).toEqual(["user: go"]);
  });

  it("a parked task keeps its blocking send waiting", async () => {
    const { agent } = parking();
    await using served = startHandler({ agent });
    const answered: string[] = [];
    const completion = served.send("go").then((response) => answered.push(stateOf(taskOf(response))));
    await settle();
    const { tasks } = await served.store.list(alice, { limit: 1 });
    const id = tasks[0]?.head.id ?? "";
    await served.clock.advance(60_000);
    expect(answered).toEqual([]);
    await served.handler.wake(alice, id, "end");
    await completion;
    expect(answered).toEqual(["COMPLETED"]);
  });

  it("a parked task continues when due, to the millisecond in the process that parked it", async () => {
    const clock = createVirtualClock();
    const times: number[] = [];
    const began = clock.now();
    const agent: Agent = async ({ cause, wake }) => {
      times.push(clock.now() - began);
      expect(wake).toBeUndefined();
      return cause === "message" ? park({ wakeAt: new Date(clock.now() + 90_500) }) : undefined;
    };
    await using served = await parked({ agent, clock });
    await clock.advance(90_499);
    expect(times).toEqual([0]);
    await clock.advance(1);
    expect(times).toEqual([0, 90_500]);
    await settle();
    expect(stateOf(await served.get(served.taskId))).toBe("COMPLETED");
  });

  it("a parked task is woken on time by another process when the one that parked it is dead", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const turns: string[] = [];
    const wakeAt = clock.now() + 20_000;
    const agent: Agent = async ({ cause }) => {
      turns.push(cause);
      return park(cause === "message" ? { wakeAt } : {});
    };
    const first = await parked({ agent, clock, store });
    await turnUntil(clock, first.handler.close());
    await using second = startHandler({ agent, clock, store });
    await clock.advance(15_000);
    expect(turns).toEqual(["message"]);
    await clock.advance(8_001);
    expect(turns).toEqual(["message", "wake"]);
    expect(await second.store.head(alice, first.taskId)).toMatchObject({ holder: "" });
  });

  it("a parked task continues with a message, and the wake time of the previous turn no longer counts", async () => {
    const clock = createVirtualClock();
    const turns: string[] = [];
    const agent: Agent = async ({ text, cause }) => {
      turns.push(`${cause} ${text}`);
      return text === "go" ? park({ wakeAt: clock.now() + 5000 }) : park();
    };
    await using served = await parked({ agent, clock });
    const response = served.send("more", { taskId: served.taskId });
    await clock.advance(60_000);
    expect(turns).toEqual(["message go", "message more"]);
    await served.cancel(served.taskId);
    expect(stateOf(taskOf(await response))).toBe("CANCELED");
  });

  it("a parked task with a wake time in the past is woken once a second, without a busy loop", async () => {
    const clock = createVirtualClock();
    const began = clock.now();
    const times: string[] = [];
    const agent: Agent = async ({ cause }) => {
      times.push(`${cause} ${clock.now() - began}`);
      return park({ wakeAt: 0 });
    };
    await using served = await parked({ agent, clock, limits: { heartbeatMs: 250 } });
    await clock.advance(3500);
    expect(times).toEqual(["message 0", "wake 0", "wake 1000", "wake 2000", "wake 3000"]);
    expect(await served.store.head(alice, served.taskId)).toMatchObject({ holder: "", wakeAt: began + 4000 });
  });

  it("a parked task that waits out a wake pause is still woken by wake(), and continues with a message", async () => {
    const clock = createVirtualClock();
    const began = clock.now();
    const times: string[] = [];
    const agent: Agent = async ({ cause, wake, text }) => {
      times.push(`${cause} ${clock.now() - began}`);
      return wake === "end" || text === "end" ? undefined : park({ wakeAt: 0 });
    };
    await using served = await parked({ agent, clock, limits: { minWakeIntervalMs: 60_000 } });
    await clock.advance(100);
    await served.handler.wake(alice, served.taskId, 1);
    await clock.advance(100);
    await served.handler.wake(alice, served.taskId, 2);
    await clock.advance(100);
    expect(stateOf(taskOf(await served.send("end", { taskId: served.taskId })))).toBe("COMPLETED");
    expect(times).toEqual(["message 0", "wake 0", "wake 100", "wake 200", "message 300"]);
  });

  it("a parked task is not delayed when its turn takes longer than the pause of a second", async () => {
    const clock = createVirtualClock();
    const began = clock.now();
    const times: number[] = [];
    const agent: Agent = async () => {
      times.push(clock.now() - began);
      await new Promise<void>((resolve) => clock.after(1500, resolve));
      return park({ wakeAt: clock.now() + 100 });
    };
    await using _ = await parked({ agent, clock });
    await clock.advance(5000);
    expect(times).toEqual([0, 1600, 3200, 4800]);
  });

  it("a parked task is canceled by any process, without its agent", async () => {
    const { agent, turns } = parking({ wakeAt: 8e12 });
    await using served = await parked({ agent });
    expect(stateOf(await served.cancel(served.taskId))).toBe("CANCELED");
    expect(turns.length).toBe(1);
    expect(await served.store.head(alice, served.taskId)).toMatchObject({ wakeAt: undefined, holder: "" });
  });

  it("a parked task keeps the input it asked its caller for", async () => {
    const agent: Agent = async function* ({ wake }) {
      if (wake === "granted") return;
      yield authRequired("log in");
      return park();
    };
    await using served = startHandler({ agent });
    const task = taskOf(await served.send("go"));
    expect(stateOf(task)).toBe("AUTH_REQUIRED");
    await settle();
    expect(await served.store.head(alice, task.id)).toMatchObject({ holder: "" });
    await served.handler.wake(alice, task.id, "granted");
    await settle();
    expect(stateOf(await served.get(task.id))).toBe("COMPLETED");
  });

  it("a parked task keeps the other parameters of its send", async () => {
    const parameters: unknown[] = [];
    const agent: Agent = async ({ wake, metadata, configuration, extensions }) => {
      if (wake !== undefined) parameters.push(metadata, configuration, extensions);
      return wake === undefined ? park() : undefined;
    };
    const clock = createVirtualClock();
    await using served = startHandler({ agent, clock });
    const configuration = { returnImmediately: true, acceptedOutputModes: ["text/plain"] };
    const response = await served.send("go", { configuration, metadata: { trace: 1 } }, { extensions: ["urn:x"] });
    await settle();
    await served.handler.wake(alice, taskOf(response).id, 1);
    await settle();
    expect(parameters).toMatchObject([{ trace: 1 }, configuration, ["urn:x"]]);
  });
});

describe("a wake", () => {
  it("a wake of a running task starts the next turn after it parks, and a second wake is dropped", async () => {
    const gate = Promise.withResolvers<void>();
    const turns: unknown[] = [];
    const agent: Agent = async ({ wake, emit }) => {
      turns.push(wake);
      await emit(working());
      if (wake === undefined) await gate.promise;
      return park();
    };
    await using served = await parked({ agent });
    expect(await served.handler.wake(alice, served.taskId, 1)).toBe(true);
    expect(await served.handler.wake(alice, served.taskId, 2)).toBe(true);
    gate.resolve();
    await settle();
    expect(turns).toEqual([undefined, 1]);
    expect(await served.store.head(alice, served.taskId)).toMatchObject({ holder: "", turn: 2 });
  });

  it("a wake of a task that its turn ends has no effect", async () => {
    const gate = Promise.withResolvers<void>();
    let turns = 0;
    const agent: Agent = async ({ emit }) => {
      turns++;
      await emit(working());
      await gate.promise;
    };
    await using served = await parked({ agent });
    expect(await served.handler.wake(alice, served.taskId)).toBe(true);
    gate.resolve();
    await settle();
    expect(stateOf(await served.get(served.taskId))).toBe("COMPLETED");
    expect(await served.handler.wake(alice, served.taskId)).toBe(false);
    expect(turns).toBe(1);
  });

  it("a wake of a task that waits for input starts a turn as well", async () => {
    const agent: Agent = async ({ wake }) => (wake === undefined ? inputRequired("?") : undefined);
    await using served = startHandler({ agent });
    const { id } = taskOf(await served.send("go"));
    await settle();
    expect(await served.handler.wake(alice, id, "never mind")).toBe(true);
    await settle();
    expect(stateOf(await served.get(id))).toBe("COMPLETED");
  });

  it("a wake needs the owner of its task, and data that is JSON", async () => {
    await using served = await parked({ agent: parking().agent });
    const bob = served.handler.wake({ tenant: "", owner: "bob" }, served.taskId);
    expect(await errorOf(bob)).toMatchObject({ code: "taskNotFound" });
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    await expect(served.handler.wake(alice, served.taskId, cyclic as never)).rejects.toThrow(TypeError);
    const large = served.handler.wake(alice, served.taskId, "x".repeat(5 << 20));
    expect(await errorOf(large)).toMatchObject({ code: "resourceExhausted" });
  });

  it("a wake reaches a task that runs in another process", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const gate = Promise.withResolvers<void>();
    const turns: unknown[] = [];
    const agent: Agent = async ({ wake }) => {
      turns.push(wake);
      if (wake === undefined) await gate.promise;
      return wake === undefined ? park() : undefined;
    };
    await using here = await parked({ agent, clock, store });
    await using there = startHandler({ agent, clock, store });
    expect(await there.handler.wake(alice, here.taskId, "from there")).toBe(true);
    expect(turns).toEqual([undefined]);
    gate.resolve();
    await settle();
    expect(turns).toEqual([undefined, "from there"]);
  });
});

describe("parking", () => {
  it("parking by an event ends the turn, and later events of the agent are dropped", async () => {
    const agent: Agent = async function* () {
      yield park();
      yield artifact("too late");
    };
    await using served = await parked({ agent });
    expect((await served.get(served.taskId)).artifacts).toEqual([]);
    expect(await served.store.head(alice, served.taskId)).toMatchObject({ holder: "" });
  });

  it("parking fails the task when the agent throws afterwards", async () => {
    const agent: Agent = async function* () {
      yield park();
      throw new Error("broken");
    };
    await using served = await parked({ agent });
    expect(stateOf(await served.get(served.taskId))).toBe("FAILED");
  });

  it("parking takes a date, a number or no time, and refuses anything else", () => {
    expect([park(), park({ wakeAt: 5.2 }), park({ wakeAt: new Date(7) })].map(({ wakeAt }) => wakeAt)).toEqual([
      undefined,
      6,
      7,
    ]);
    expect(() => park({ wakeAt: new Date("never") })).toThrow(TypeError);
    expect(() => park({ wakeAt: Number.NaN })).toThrow(TypeError);
  });
});
