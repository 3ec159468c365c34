import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import type { Append } from "../../../src/core/ports.js";
import { artifact, inputRequired } from "../../../src/protocol/events.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { startHandler } from "../../support/handler.js";
import { stateOf, taskOf, textIn } from "../../support/say.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

/** Writes this many bytes as a new artifact, then asks for more. */
const writer: Agent = async function* ({ text }) {
  yield artifact("x".repeat(Number(text)));
  yield inputRequired();
};

describe("a continued task", () => {
  it("a continued task counts its existing content against the task limit", async () => {
    await using served = startHandler({ agent: writer, limits: { taskMaxBytes: 10_000 } });
    const { id: taskId } = taskOf(await served.send("6000"));
    await settle();
    expect(stateOf(taskOf(await served.send("3000", { taskId })))).toBe("INPUT_REQUIRED");
    await settle();
    const task = taskOf(await served.send("3000", { taskId }));
    expect([stateOf(task), task.artifacts.length]).toEqual(["FAILED", 2]);
    expect(textIn(task.status?.message?.parts)).toContain("10000 bytes");
  });

  it("a continued task gets a snapshot when the log outgrows the last one, whoever wrote that", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const snapshots: number[] = [];
    const append = store.append.bind(store);
    Object.assign(store, {
      append: (write: Append) => {
        if (write.snapshot !== undefined) snapshots.push(write.snapshot.bytes);
        return append(write);
      },
    });
    await using served = startHandler({ agent: writer, clock, store });
    const { id: taskId } = taskOf(await served.send("40000"));
    for (const text of ["40000", "40000", "40000"]) {
      await settle();
      await served.send(text, { taskId });
    }
    // The log exceeds 64 KiB with the second turn and has doubled with the fourth.
    expect(snapshots).toHaveLength(2);
    expect(snapshots[0]).toBeGreaterThan(80_000);
    expect(snapshots[1]).toBeGreaterThan(160_000);
  });
});
