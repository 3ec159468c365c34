import { expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import type { TaskStore } from "../../../src/core/ports.js";
import { artifact, inputRequired } from "../../../src/protocol/events.js";
import { TaskState } from "../../../src/protocol/model.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { startHandler } from "../../support/handler.js";
import { itemsOf } from "../../support/items.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

/** The store of a process that loses the answer to its first write when the gate opens, and cannot renew its lease. */
function cutBehindCreate(store: TaskStore, gate: Promise<void>): TaskStore {
  const create: TaskStore["create"] = async (task) => {
    await store.create(task);
    await gate;
    throw new Error("the answer was lost");
  };
  const changed: Partial<TaskStore> = { create, renew: (_, ttlMs) => store.renew("somebody else", ttlMs) };
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(changed, name) ?? Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

it("a stream ends with its answer after its task was taken over and continued before the first event arrived", async () => {
  const clock = createVirtualClock();
  const store = memoryTaskStore({ clock });
  const gate = Promise.withResolvers<void>();
  const agent: Agent = async function* ({ cause }) {
    if (cause === "restart") yield artifact("much more");
    yield inputRequired("how many?");
  };
  const limits = { storeWaitMs: 30_000 };
  const first = startHandler({ agent, clock, limits, restartable: true, store: cutBehindCreate(store, gate.promise) });
  const items = itemsOf(first.stream("go"));
  await settle();
  await using _second = startHandler({ agent, clock, restartable: true, store });
  await clock.advance(16_000);
  gate.resolve();
  await clock.advance(1_000);
  const [task, answer, ...more] = (await items).map(({ response }) => response.payload);
  expect(task).toMatchObject({ case: "task", value: { status: { state: TaskState.SUBMITTED }, artifacts: [] } });
  expect(answer).toMatchObject({ case: "statusUpdate", value: { status: { state: TaskState.INPUT_REQUIRED } } });
  expect(more).toEqual([]);
});
