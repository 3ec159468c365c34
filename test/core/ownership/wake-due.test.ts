import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import { createAlarm } from "../../../src/core/alarm.js";
import type { CoreLimits } from "../../../src/core/limits.js";
import type { Head, TaskStore } from "../../../src/core/ports.js";
import type { Scope } from "../../../src/protocol/context.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { alice, appendTo, bob, newTask } from "../../../src/testing/contract/fixtures.js";
import { startHandler } from "../../support/handler.js";
import { createVirtualClock, settle, type VirtualClock } from "../../support/virtual-clock.js";

/** Parks a task without a holder, due at a given time. */
async function park(store: TaskStore, scope: Scope, wakeAt: number): Promise<Head> {
  const head = await store.create(newTask({ scope }));
  await store.append(appendTo(head, { end: { inboxPut: 0, park: { wakeAt } } }));
  return head;
}

async function parkMany(store: TaskStore, scope: Scope, count: number): Promise<readonly Head[]> {
  const heads: Head[] = [];
  for (let time = 1; time <= count; time++) heads.push(await park(store, scope, time));
  return heads;
}

/** An agent that stays in each turn until released, and records whose turns were woken. */
function staying() {
  const wakes: string[] = [];
  let gate = Promise.withResolvers<void>();
  const agent: Agent = async ({ cause, principal }) => {
    if (cause === "wake") wakes.push(principal.owner);
    if (principal.owner === "alice") await gate.promise;
  };
  const letGo = (): void => {
    gate.resolve();
    gate = Promise.withResolvers<void>();
  };
  return { agent, woken: wakes, letGo };
}

/**
 * A handler with a store in which several tasks of Alice are due before one of Bob. Alice already runs a turn and may
 * run no other.
 */
async function crowded(count: number) {
  const clock = createVirtualClock();
  const store = memoryTaskStore({ clock });
  const { agent, woken: wakes, letGo } = staying();
  const served = startHandler({ agent, clock, store, limits: { turnsPerOwner: 1 } });
  await served.send("go", { configuration: { returnImmediately: true } });
  await parkMany(store, alice, count);
  await park(store, bob, count + 1);
  return { ...served, woken: wakes, letGo };
}

/** The store with one unreadable task. */
function unreadable(store: TaskStore, lost: string): TaskStore {
  const read = store.read.bind(store);
  return Object.assign(store, {
    read: async (scope: Scope, id: string) => (id === lost ? Promise.reject(new Error("torn")) : read(scope, id)),
  });
}

/** The store in which a read takes 10 ms, as over a network. */
function distant(store: TaskStore, clock: VirtualClock): TaskStore {
  const read = store.read.bind(store);
  return Object.assign(store, {
    read: async (scope: Scope, id: string) => {
      await new Promise<void>((resolve) => clock.after(10, resolve));
      return read(scope, id);
    },
  });
}

const heartbeat = (clock: VirtualClock): Promise<void> => clock.advance(3000);

describe("parked tasks that are due", () => {
  it("parked tasks that are due are not held up by a thousand tasks of an owner at its turn limit", async () => {
    await using served = await crowded(1000);
    await heartbeat(served.clock);
    expect(served.woken).toEqual(["bob"]);
    served.letGo();
    await heartbeat(served.clock);
    expect(served.woken).toEqual(["bob", "alice"]);
  });

  it("parked tasks that are due are found behind ten thousand tasks of such an owner on the next pass", async () => {
    await using served = await crowded(10_000);
    await heartbeat(served.clock);
    expect(served.woken).toEqual([]);
    await heartbeat(served.clock);
    expect(served.woken).toEqual(["bob"]);
    served.letGo();
    await heartbeat(served.clock);
    expect(served.woken).toEqual(["bob", "alice"]);
  });

  it("parked tasks that are due take turns when the process is at its turn limit", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const { agent, woken: wakes, letGo } = staying();
    await parkMany(store, alice, 5);
    await using served = startHandler({ agent, clock, store, limits: { turnsPerProcess: 2 } });
    const wakeCounts: number[] = [];
    for (let beat = 0; beat < 4; beat++) {
      await heartbeat(served.clock);
      wakeCounts.push(wakes.length);
      letGo();
    }
    expect(wakeCounts).toEqual([2, 4, 5, 5]);
  });

  it("parked tasks that are due are woken several at a time", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const { agent, woken: wakes } = staying();
    await parkMany(store, bob, 800);
    await using served = startHandler({ agent, clock, store: distant(store, clock) });
    await heartbeat(clock);
    await clock.advance(1100);
    expect(wakes.length).toBe(800);
    expect(served.log).toEqual([]);
  });

  it.each<[string, Partial<CoreLimits>]>([
    ["an owner", { turnsPerOwner: 3 }],
    ["the process", { turnsPerProcess: 3 }],
  ])("parked tasks that are woken never exceed the limit of %s meanwhile", async (_, limits) => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const { agent, woken: wakes, letGo } = staying();
    await parkMany(store, alice, 8);
    await using _served = startHandler({ agent, clock, store: distant(store, clock), limits });
    const wakeCounts: number[] = [];
    for (let beat = 0; beat < 4; beat++) {
      await heartbeat(clock);
      await clock.advance(100);
      wakeCounts.push(wakes.length);
      letGo();
    }
    expect(wakeCounts).toEqual([3, 6, 8, 8]);
  });

  it("parked tasks that are due are not held up by a task that cannot be read", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const { agent, woken: wakes } = staying();
    const broken = await park(store, bob, 1);
    await park(store, bob, 2);
    await park(store, bob, 3);
    await using served = startHandler({ agent, clock, store: unreadable(store, broken.id) });
    await heartbeat(served.clock);
    await heartbeat(served.clock);
    expect(wakes).toEqual(["bob", "bob"]);
    expect(
      served.log.filter(({ message }) => /^parked tasks could not be woken/.test(message ?? "")).length,
    ).toBeGreaterThan(0);
  });
});

describe("an alarm", () => {
  it("an alarm that fires while its handler runs makes the handler run once more, however often it fires", async () => {
    const clock = createVirtualClock();
    const rings: PromiseWithResolvers<void>[] = [];
    const alarm = createAlarm(clock, () => {
      const ring = Promise.withResolvers<void>();
      rings.push(ring);
      return ring.promise;
    });
    for (const ms of [10, 20, 30]) alarm.at(clock.now() + ms);
    await clock.advance(40);
    expect(rings.length).toBe(1);
    rings[0]?.resolve();
    await settle();
    expect(rings.length).toBe(2);
    rings[1]?.resolve();
    await settle();
    expect(rings.length).toBe(2);
    alarm.at(clock.now() + 5);
    await clock.advance(5);
    expect(rings.length).toBe(3);
    alarm.close();
  });
});
