import { describe, expect, it } from "vitest";
import { completed, inputRequired } from "../../src/protocol/events.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { startHandler, type TestHandler } from "../support/handler.js";
import { errorOf, openStream, taskOf } from "../support/say.js";
import { createVirtualClock } from "../support/virtual-clock.js";

const alice = { principal: { owner: "alice" } };
const bob = { principal: { owner: "bob" } };

function serve(tasksPerOwner: number, store = memoryTaskStore()): TestHandler {
  const clock = createVirtualClock();
  const agent = async ({ text }: { readonly text: string }) =>
    text === "end" ? completed() : inputRequired("which one?");
  return startHandler({ agent, clock, store, limits: { tasksPerOwner } });
}

/** Sends until one is refused. Returns the number of tasks. */
async function fill(served: TestHandler): Promise<number> {
  for (let count = 0; count < 1000; count++) {
    const response = await served.send("go", {}, alice).catch(() => undefined);
    if (response === undefined) return count;
  }
  throw new Error("none was refused");
}

describe("the unfinished tasks of an owner", () => {
  it.each([1, 7, 60, 500])("the unfinished tasks of an owner are at most %i", async (most) => {
    await using served = serve(most);
    expect(await fill(served)).toBe(most);
    expect(await errorOf(served.send("go", {}, alice))).toMatchObject({
      code: "resourceExhausted",
      message: `too many unfinished tasks of this caller: the limit is ${most} (tasksPerOwner)`,
      metadata: { limit: "tasksPerOwner" },
    });
    expect(await errorOf(openStream(served.stream("go", {}, alice)))).toMatchObject({ code: "resourceExhausted" });
  });

  it("the unfinished tasks of an owner take no room from others", async () => {
    await using served = serve(3);
    await fill(served);
    expect(taskOf(await served.send("go", {}, bob)).id).not.toBe("");
  });

  it("all unfinished tasks of an owner may be continued, and one that ends makes room for another", async () => {
    await using served = serve(3);
    const { id: taskId } = taskOf(await served.send("go", {}, alice));
    await fill(served);
    await served.send("more", { taskId }, alice);
    await served.send("end", { taskId }, alice);
    await served.send("go", {}, alice);
    expect(await errorOf(served.send("go", {}, alice))).toMatchObject({ code: "resourceExhausted" });
  });

  it("the unfinished tasks that were there before the process started count", async () => {
    const store = memoryTaskStore();
    await using first = serve(200, store);
    expect(await fill(first)).toBe(200);
    await using second = serve(200, store);
    // A process learns of them after some sends.
    expect(await fill(second)).toBeLessThanOrEqual(50);
  });
});
