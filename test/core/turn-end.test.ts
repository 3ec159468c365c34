import { describe, expect, it } from "vitest";
import { inputRequired, working } from "../../src/protocol/events.js";
import { beginTask } from "../support/handler.js";
import { heldStore } from "../support/held-store.js";
import { errorOf, historyOf, linesOf, stateOf } from "../support/say.js";
import { createVirtualClock, settle } from "../support/virtual-clock.js";

describe("a message that comes while its turn ends", () => {
  it("starts the next turn, when the write that ends the turn sees that it has come", async () => {
    const clock = createVirtualClock();
    const held = heldStore(clock);
    const gate = Promise.withResolvers<void>();
    const turns: string[] = [];
    await using served = await beginTask({
      clock,
      store: held.store,
      async *agent({ text }) {
        turns.push(text);
        yield inputRequired(`${text}?`);
        if (text === "go") await gate.promise;
      },
    });
    const { taskId } = served;
    held.hold();
    gate.resolve();
    await settle();
    expect(held.waiting).toEqual([1]);
    const lines = linesOf(served.stream("late", { taskId }));
    await settle();
    held.release();
    expect(await lines).toEqual(["task INPUT_REQUIRED", "status INPUT_REQUIRED"]);
    expect(turns).toEqual(["go", "late"]);
    expect(historyOf(await served.get(taskId))).toEqual(["user: go", "agent: go?", "user: late"]);
  });

  it("is refused when the end is terminal", async () => {
    const clock = createVirtualClock();
    const held = heldStore(clock);
    const gate = Promise.withResolvers<void>();
    await using served = await beginTask({
      clock,
      store: held.store,
      async *agent() {
        yield working();
        await gate.promise;
      },
    });
    const { taskId } = served;
    held.hold();
    gate.resolve();
    await settle();
    const refused = [errorOf(served.send("late", { taskId })), errorOf(served.stream("late", { taskId }))];
    await settle();
    held.release();
    for (const error of refused) expect(await error).toMatchObject({ code: "unsupportedOperation" });
    expect(historyOf(await served.get(taskId))).toEqual(["user: go"]);
  });

  it("gives way to a cancel that came as well", async () => {
    const clock = createVirtualClock();
    const held = heldStore(clock);
    const gate = Promise.withResolvers<void>();
    await using served = await beginTask({
      clock,
      store: held.store,
      async *agent() {
        yield inputRequired("?");
        await gate.promise;
      },
    });
    const { taskId } = served;
    held.hold();
    gate.resolve();
    await settle();
    const refused = errorOf(served.send("late", { taskId }));
    await settle();
    const canceled = served.cancel(taskId);
    await settle();
    held.release();
    expect(stateOf(await canceled)).toBe("CANCELED");
    expect(await refused).toMatchObject({ code: "unsupportedOperation" });
  });
});
