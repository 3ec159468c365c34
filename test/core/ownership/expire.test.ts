import { describe, expect, it, vi } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import { coreLimits } from "../../../src/core/limits.js";
import { inputRequired, park, working } from "../../../src/protocol/events.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { startHandler } from "../../support/handler.js";
import { linesOf, stateOf, taskOf, textIn } from "../../support/say.js";
import { createVirtualClock, settle, turnUntil } from "../../support/virtual-clock.js";

const hourMs = 3_600_000;
const limits = { taskWaitMaxMs: hourMs };

describe("a task that waits for longer than it may", () => {
  it("a task that waits for longer than it may ends FAILED, and its subscribers hear of it", async () => {
    await using served = startHandler({ agent: async () => inputRequired("which one?"), limits });
    const { id } = taskOf(await served.send("go"));
    await settle();
    const lines = linesOf(served.subscribe(id));
    await served.clock.advance(hourMs - 120_000);
    expect(stateOf(await served.get(id))).toBe("INPUT_REQUIRED");
    await served.clock.advance(240_000);
    const task = await served.get(id);
    expect(stateOf(task)).toBe("FAILED");
    expect(textIn(task.status?.message?.parts)).toContain("taskWaitMaxMs");
    expect(await lines).toEqual(["task INPUT_REQUIRED", "status FAILED"]);
  });

  it("a waiting task has as long again after each message", async () => {
    await using served = startHandler({ agent: async () => inputRequired("which one?"), limits });
    const { id: taskId } = taskOf(await served.send("go"));
    await served.clock.advance(hourMs - 120_000);
    await served.send("more", { taskId });
    await served.clock.advance(hourMs - 120_000);
    expect(stateOf(await served.get(taskId))).toBe("INPUT_REQUIRED");
  });

  it.each([
    ["parked without a time", undefined, "FAILED"],
    ["parked until a time to come", 10 * hourMs, "WORKING"],
  ] as const)("a task that is %s expires only if it waits for longer than it may", async (_, parkMs, state) => {
    const clock = createVirtualClock();
    const agent: Agent = async ({ emit }) => {
      await emit(working());
      return park(parkMs === undefined ? {} : { wakeAt: clock.now() + parkMs });
    };
    await using served = startHandler({ agent, clock, limits });
    const { id } = taskOf(await served.send("go", { configuration: { returnImmediately: true } }));
    await clock.advance(2 * hourMs);
    expect(stateOf(await served.get(id))).toBe(state);
  });

  it("a task with a running turn never expires, however long the turn takes", async () => {
    const agent: Agent = async ({ emit, ask }) => {
      await emit(working());
      await ask(inputRequired("which one?"));
    };
    await using served = startHandler({ agent, limits });
    const { id } = taskOf(await served.send("go"));
    await served.clock.advance(3 * hourMs);
    expect(stateOf(await served.get(id))).toBe("INPUT_REQUIRED");
  });

  it("an expired task that could not be ended is ended after the next heartbeat", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const agent: Agent = async () => inputRequired("which one?");
    await using served = startHandler({ agent, clock, store, limits: { taskWaitMaxMs: hourMs - 10_000 } });
    const { id } = taskOf(await served.send("go"));
    await clock.advance(hourMs - 10_000);
    const { promise: failed, resolve: noteFailure } = Promise.withResolvers<void>();
    vi.spyOn(store, "waiting").mockImplementationOnce(async () => {
      noteFailure();
      throw new Error("the store failed");
    });
    await turnUntil(clock, failed);
    expect(stateOf(await served.get(id))).toBe("INPUT_REQUIRED");
    await clock.advance(coreLimits().heartbeatMs);
    expect(stateOf(await served.get(id))).toBe("FAILED");
  });

  it("several processes end an expired task once, and others of many too", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const options = { agent: async () => inputRequired("which one?"), clock, store, limits };
    await using first = startHandler(options);
    await using _second = startHandler(options);
    const ids: string[] = [];
    for (let index = 0; index < 150; index++) ids.push(taskOf(await first.send("go")).id);
    await clock.advance(hourMs + 120_000);
    for (const id of ids) expect(stateOf(await first.get(id))).toBe("FAILED");
  });
});
