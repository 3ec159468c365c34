import { describe, expect, it } from "vitest";
import { keptClaims } from "../../../src/auth/kept-claims.js";
import type { Agent } from "../../../src/core/agent.js";
import type { TaskStore } from "../../../src/core/ports.js";
import type { Principal } from "../../../src/protocol/context.js";
import { inputRequired, park, working } from "../../../src/protocol/events.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { startHandler, type TestHandler } from "../../support/handler.js";
import { openStream, taskOf } from "../../support/say.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

// What turns know of their callers when no call of their process started them.

const forEver = new Promise<never>(() => {});
const alice = { owner: "alice", scheme: "user", scopes: ["read"], claims: { team: "north", mail: "a@x" } };
const record = { tenant: "", ...alice };
const caller = { principal: alice };

function place(keepClaims: boolean | readonly string[], agent: Agent, restartable = true) {
  const clock = createVirtualClock();
  const store = memoryTaskStore({ clock });
  const principals: Principal[] = [];
  const noting: Agent = (turn) => {
    principals.push(turn.principal);
    return agent(turn);
  };
  const claimsToKeep = keptClaims({ keepClaims });
  const start = (): TestHandler & { die(): void } => {
    let isDead = false;
    const cut = new Proxy<TaskStore>(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        return (...args: readonly unknown[]) => (isDead ? forEver : Reflect.apply(member, target, args));
      },
    });
    const served = startHandler({ clock, store: cut, agent: noting, restartable, keptClaims: claimsToKeep });
    return Object.assign(served, {
      die() {
        isDead = true;
      },
    });
  };
  return { clock, principals, start };
}

const parking: Agent = async function* () {
  yield working();
  yield park();
};

describe("a turn that no call of its process started", () => {
  it.each([
    ["everything", true, record],
    ["the claims of a list", ["team"], { ...record, claims: { team: "north" } }],
    ["owner and tenant alone by default", false, { tenant: "", owner: "alice" }],
  ] as const)("a turn knows %s of its principal after a wake", async (_, keepClaims, expected) => {
    const { principals, start } = place(keepClaims, parking);
    const first = start();
    const { id } = taskOf((await openStream(first.stream("go", {}, caller))).firstItem.response);
    await settle();
    await first.handler.drain(0);
    await using second = start();
    expect(await second.handler.wake({ tenant: "", owner: "alice" }, id)).toBe(true);
    await settle();
    expect(principals).toEqual([alice, expected]);
  });

  it("a turn knows the claims of its principal when it runs again after its process died", async () => {
    const { clock, principals, start } = place(true, async function* ({ attempt }) {
      yield working();
      if (attempt === 1) await forEver;
    });
    const first = start();
    await openStream(first.stream("go", {}, caller));
    await settle();
    first.die();
    await using _ = start();
    await clock.advance(60_000);
    expect(principals).toEqual([alice, record]);
  });

  it("a turn knows the claims of a message that another process received", async () => {
    const { promise: finish, resolve } = Promise.withResolvers<void>();
    const { principals, start } = place(true, async function* ({ text }) {
      yield working();
      if (text === "go") await finish;
      yield inputRequired("more?");
    });
    await using first = start();
    await using second = start();
    const { id: taskId } = taskOf((await openStream(first.stream("go", {}, caller))).firstItem.response);
    await settle();
    const writer = { ...alice, scopes: ["read", "write"] };
    const response = second.send("and this", { taskId }, { principal: writer });
    await settle();
    resolve();
    await first.clock.advance(2_000);
    await response;
    expect(principals).toEqual([alice, { ...record, scopes: ["read", "write"] }]);
  });

  it("a turn knows the claims of a message that a dead process had not taken", async () => {
    const asking: Agent = async function* ({ text }) {
      yield inputRequired("more?");
      if (text === "go") await forEver;
    };
    const { clock, principals, start } = place(true, asking, false);
    const first = start();
    const { id: taskId } = taskOf(await first.send("go", {}, caller));
    first.die();
    await using second = start();
    const response = second.send("and this", { taskId }, caller);
    await clock.advance(60_000);
    await response;
    expect(principals).toEqual([alice, record]);
  });
});
