import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import type { TaskStore } from "../../../src/core/ports.js";
import { working } from "../../../src/protocol/events.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { alice, bob, newTask } from "../../../src/testing/contract/fixtures.js";
import { startHandler } from "../../support/handler.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

const forEver = new Promise<never>(() => {});
/** Longer than an instance lives without a heartbeat. */
const expiryMs = 16_000;

/** The store with one method replaced. */
function withMethod<Name extends keyof TaskStore>(store: TaskStore, name: Name, method: TaskStore[Name]): TaskStore {
  return new Proxy(store, {
    get(target, member) {
      if (member === name) return method;
      const value: unknown = Reflect.get(target, member);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Tasks of a dead process in creation order: `count` of Alice, then one of Bob. */
async function leftBehind(count: number) {
  const clock = createVirtualClock();
  const store = memoryTaskStore({ clock });
  const line = { cut: false };
  const staying: Agent = async function* () {
    yield working();
    await forEver;
  };
  const cut = new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: readonly unknown[]) => (line.cut ? forEver : Reflect.apply(member, target, args));
    },
  });
  const deadHandler = startHandler({ agent: staying, clock, store: cut, restartable: true });
  for (let index = 0; index < count; index++) {
    await deadHandler.send("go", { configuration: { returnImmediately: true } }, { principal: alice });
  }
  await deadHandler.send("go", { configuration: { returnImmediately: true } }, { principal: bob });
  await settle();
  line.cut = true;
  return { clock, store };
}

describe("orphaned tasks", () => {
  it("orphaned tasks are not held up by those of an owner at its turn limit", async () => {
    const { clock, store } = await leftBehind(250);
    const restarted: string[] = [];
    const agent: Agent = async ({ principal, cause }) => {
      restarted.push(`${cause} ${principal.owner}`);
      await forEver;
    };
    await using _served = startHandler({ agent, clock, store, restartable: true, limits: { turnsPerOwner: 3 } });
    await clock.advance(expiryMs);
    expect(restarted).toEqual(["restart alice", "restart alice", "restart alice", "restart bob"]);
  });

  it("orphaned tasks all end within one heartbeat when their turns are not restartable", async () => {
    const { clock, store } = await leftBehind(250);
    await using _served = startHandler({ agent: async () => {}, clock, store });
    await clock.advance(expiryMs);
    expect(await store.orphans("", 10)).toEqual([]);
    expect((await store.list(alice, { state: 4, limit: 1 })).total).toBe(250);
  });

  it("orphaned tasks are taken over several at a time", async () => {
    const { clock, store } = await leftBehind(799);
    const read: TaskStore["read"] = async (scope, id) => {
      await new Promise<void>((resolve) => clock.after(10, resolve));
      return store.read(scope, id);
    };
    await using _served = startHandler({ agent: async () => {}, clock, store: withMethod(store, "read", read) });
    await clock.advance(expiryMs);
    await clock.advance(1100);
    expect(await store.orphans("", 10)).toEqual([]);
  });

  it("orphaned tasks are taken over, except one that cannot be read", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const heads = [];
    for (let index = 0; index < 5; index++) heads.push(await store.create(newTask({ holder: "gone" })));
    const broken = heads[1];
    const read: TaskStore["read"] = async (scope, id) =>
      id === broken?.id ? Promise.reject(new Error("torn")) : store.read(scope, id);
    await using _served = startHandler({ agent: async () => {}, clock, store: withMethod(store, "read", read) });
    await clock.advance(7_000);
    expect((await store.orphans("", 10)).map(({ key }) => key)).toEqual([broken?.key]);
  });

  it("orphaned tasks do not keep a process from renewing its own lease, however long they take", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    await store.create(newTask({ holder: "gone" }));
    const agent: Agent = async () => forEver;
    const slow = withMethod(store, "orphans", () => forEver);
    const served = startHandler({ agent, clock, store: slow, instance: "here" });
    const own = await store.create(newTask({ holder: "here" }));
    await clock.advance(3 * expiryMs);
    expect(await store.head(own.scope, own.id)).toMatchObject({ holder: "here", holderLive: true });
    void served;
  });
});
