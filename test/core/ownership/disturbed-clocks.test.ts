import { timestampFromMs, timestampMs, timestampNow } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import type { Agent, TurnAborted } from "../../../src/core/agent.js";
import { callMethod, createPort, type TaskStore, taskCalls } from "../../../src/core/ports.js";
import { artifact, completed, working } from "../../../src/protocol/events.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { beginTask, contextOf, type StartedTask, startHandler } from "../../support/handler.js";
import { errorOf, linesOf, requestOf, stateOf, taskOf, textIn } from "../../support/say.js";
import { createVirtualClock, settle, turnUntil, type VirtualClock } from "../../support/virtual-clock.js";

const ttlMs = 15_000;

/** A clock that can be set: it shows another time of day, and its timers and its monotonic time go on. */
function settable(time: VirtualClock) {
  const shift = { ms: 0 };
  const clock: VirtualClock = { ...time, now: () => time.now() + shift.ms, monotonic: () => time.now() };
  return { clock, shift };
}

/** The way of one process to the store, which can be cut. */
function lineTo(store: TaskStore) {
  const line = { cut: false };
  const calls = createPort<Omit<TaskStore, "close">>(taskCalls, (method) => async (...args) => {
    if (line.cut) throw new Error("no way to the store");
    return callMethod(store, method, args);
  });
  return { line, store: { ...calls, close: async () => {} } satisfies TaskStore };
}

/** What happened to the turns of one process. */
class Turns {
  readonly aborted: string[] = [];
  readonly startedTurns: string[] = [];
  readonly #ends: (() => void)[] = [];
  readonly agent: Agent = async function* (this: void, _turn) {};

  constructor() {
    const turns = this;
    this.agent = async function* ({ signal, cause }) {
      turns.startedTurns.push(cause);
      yield working();
      signal.addEventListener("abort", () => turns.aborted.push((signal.reason as TurnAborted).kind));
      await new Promise<void>((resolve) => {
        turns.#ends.push(resolve);
        signal.addEventListener("abort", () => resolve());
      });
      if (!signal.aborted) yield artifact("done", { artifactId: "a" });
    };
  }

  end(): void {
    for (const end of this.#ends) end();
  }
}

interface Place {
  readonly time: VirtualClock;
  /** The clock of the store. */
  readonly storeClock: ReturnType<typeof settable>;
  readonly store: TaskStore;
}

function place(): Place {
  const time = createVirtualClock();
  const storeClock = settable(time);
  return { time, storeClock, store: memoryTaskStore({ clock: storeClock.clock }) };
}

/** A process with a running turn. */
async function processOn({ time, store }: Place, options: { readonly restartable?: boolean } = {}) {
  const turns = new Turns();
  const own = settable(time);
  const way = lineTo(store);
  const served: StartedTask = await beginTask({ ...options, agent: turns.agent, clock: own.clock, store: way.store });
  const close = (): Promise<void> => {
    way.line.cut = false;
    turns.end();
    return turnUntil(time, served.handler.close());
  };
  return { ...served, turns, line: way.line, shift: own.shift, [Symbol.asyncDispose]: close };
}

type Process = Awaited<ReturnType<typeof processOn>>;

async function expectDone(place: Place, processes: readonly Process[]): Promise<void> {
  for (const { turns, taskId, get } of processes) {
    expect(turns.aborted).toEqual([]);
    turns.end();
    await place.time.advance(1000);
    const task = await get(taskId);
    expect([stateOf(task), textIn(task.artifacts[0]?.parts)]).toEqual(["COMPLETED", "done"]);
  }
}

describe("processes that all could not renew their leases", () => {
  it.each([false, true])(
    "processes that could not renew their leases keep their tasks when the store was away (restartable: %s)",
    async (restartable) => {
      const here = place();
      await using a = await processOn(here, { restartable });
      await using b = await processOn(here, { restartable });
      await using c = await processOn(here, { restartable });
      await here.time.advance(4000);
      for (const { line } of [a, b, c]) line.cut = true;
      await here.time.advance(ttlMs + 3000);
      // One after the other comes back; the others' leases have expired.
      for (const { line } of [a, b, c]) {
        line.cut = false;
        await here.time.advance(3000);
      }
      await here.time.advance(2 * ttlMs);
      expect([a, b, c].map(({ turns }) => turns.startedTurns)).toEqual([["message"], ["message"], ["message"]]);
      await expectDone(here, [a, b, c]);
    },
  );

  it.each([
    ["forward", 3_600_000],
    ["back", -3_600_000],
  ])("processes keep their tasks when the store's clock is set %s by an hour", async (_, ms) => {
    const here = place();
    await using a = await processOn(here);
    await using b = await processOn(here);
    await here.time.advance(4000);
    here.storeClock.shift.ms = ms;
    // A caller's call shows an expired holder before any process has renewed.
    const refusal = errorOf(b.send("more", { taskId: a.taskId, configuration: { returnImmediately: true } }));
    await here.time.advance(2 * ttlMs);
    expect(await refusal).toMatchObject({ code: "unsupportedOperation" });
    await expectDone(here, [a, b]);
  });

  it("processes that come back leave the tasks of a process alone that starts meanwhile", async () => {
    const here = place();
    await using a = await processOn(here);
    await here.time.advance(4000);
    a.line.cut = true;
    await here.time.advance(ttlMs + 3000);
    a.line.cut = false;
    await using _fresh = startHandler({ agent: async () => {}, clock: here.time, store: here.store });
    await here.time.advance(2 * ttlMs);
    await expectDone(here, [a]);
  });
});

describe("a process that is gone", () => {
  it.each([
    ["forward", 3_600_000],
    ["back", -3_600_000],
  ])("a process that is gone loses its tasks to others though the store's clock was set %s", async (_, ms) => {
    const here = place();
    await using a = await processOn(here);
    const deadProcess = await processOn(here);
    await here.time.advance(4000);
    deadProcess.line.cut = true;
    here.storeClock.shift.ms = ms;
    await here.time.advance(ttlMs + 2 * 3000 + 1000);
    expect(stateOf(await a.get(deadProcess.taskId))).toBe("FAILED");
    await deadProcess[Symbol.asyncDispose]();
    await expectDone(here, [a]);
  });
});

describe("a process whose clock differs from the store's", () => {
  it.each([
    ["behind", -3_600_000],
    ["ahead", 3_600_000],
  ])(
    "a process with a wrong clock stamps statuses with the store's time, from its first task on (%s)",
    async (_, ms) => {
      const here = place();
      const own = settable(here.time);
      own.shift.ms = ms;
      const agent: Agent = async () => completed();
      const { store } = lineTo(here.store);
      const renewedLate = async (...args: Parameters<TaskStore["renew"]>) => {
        await settle();
        return here.store.renew(...args);
      };
      await using served = startHandler({ agent, clock: own.clock, store: { ...store, renew: renewedLate } });
      const askedAt = here.time.now();
      const task = taskOf(await served.send("go"));
      expect(timestampMs(task.status?.timestamp ?? timestampNow())).toBe(askedAt);
      await here.time.advance(1);
      const since = (time: number) => requestOf("listTasks", { statusTimestampAfter: timestampFromMs(time) });
      const listed = async (time: number) =>
        (await served.operations.listTasks(since(time), contextOf())).tasks.map(({ id }) => id);
      expect([await listed(askedAt), await listed(askedAt + 1)]).toEqual([[task.id], []]);
    },
  );

  it("statuses of a task keep the order of its log when the clock of its process is set between them", async () => {
    const here = place();
    await using a = await processOn(here);
    const startedAt = timestampMs((await a.get(a.taskId)).status?.timestamp ?? timestampNow());
    a.shift.ms = -3_600_000;
    await here.time.advance(1000);
    a.turns.end();
    await here.time.advance(1000);
    const { status } = await a.get(a.taskId);
    expect(timestampMs(status?.timestamp ?? timestampNow()) - startedAt).toBe(1000);
  });
});

describe("a process that is cut off from the store", () => {
  it("a process cut off from the store answers nothing from its memory once its lease may have expired", async () => {
    const here = place();
    await using other = await processOn(here);
    await using cut = await processOn(here);
    await here.time.advance(4000);
    cut.line.cut = true;
    expect(stateOf(await cut.get(cut.taskId))).toBe("WORKING");
    await here.time.advance(ttlMs + 6000);
    expect(stateOf(await other.get(cut.taskId))).toBe("FAILED");
    expect(await errorOf(cut.get(cut.taskId))).toMatchObject({ code: "unavailable" });
    expect(await errorOf(linesOf(cut.subscribe(cut.taskId)))).toMatchObject({ code: "unavailable" });
  });

  it("a process that was cut off gives up its turns when it comes back and others have taken them over", async () => {
    const here = place();
    await using other = await processOn(here);
    await using cut = await processOn(here);
    await here.time.advance(4000);
    cut.line.cut = true;
    const lines = linesOf(cut.subscribe(cut.taskId)).catch(() => []);
    await here.time.advance(ttlMs + 6000);
    expect(cut.turns.aborted).toEqual([]);
    cut.line.cut = false;
    await here.time.advance(3000);
    expect(cut.turns.aborted).toEqual(["OwnershipLost"]);
    expect(stateOf(await cut.get(cut.taskId))).toBe("FAILED");
    await lines;
    await expectDone(here, [other]);
  });

  it("a process aborts its turns when it is cut off for two lifetimes of its lease", async () => {
    const here = place();
    await using cut = await processOn(here);
    await here.time.advance(4000);
    cut.line.cut = true;
    await here.time.advance(2 * ttlMs + 6000);
    expect(cut.turns.aborted).toEqual(["OwnershipLost"]);
    // Nobody else was there to take it over.
    cut.line.cut = false;
    await here.time.advance(6000);
    expect(stateOf(await cut.get(cut.taskId))).toBe("FAILED");
  });

  it("a process that was stopped asks the store at once, and keeps the tasks that were not taken over", async () => {
    const here = place();
    await using other = await processOn(here);
    await using still = await processOn(here);
    await here.time.advance(4000);
    // Its timers run late: by its clock it is a minute later, and it has not renewed.
    still.shift.ms = 60_000;
    const { key, epoch, seq } = (await here.store.head({ agent: "", tenant: "", owner: "alice" }, still.taskId)) ?? {
      key: 0,
      epoch: 0,
      seq: 0,
    };
    expect(await here.store.append({ key, epoch, seq, records: [], bytes: 0, claim: { holder: "x", turn: 1 } })).toBe(
      "stored",
    );
    expect(stateOf(await still.get(still.taskId))).toBe("WORKING");
    const next = await still.send("next", { configuration: { returnImmediately: true } });
    expect(next.payload.case).toBe("task");
    await settle();
    expect(still.turns.aborted).toEqual(["OwnershipLost"]);
    await expectDone(here, [other]);
  });
});
