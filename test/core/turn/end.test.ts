import { describe, expect, it } from "vitest";
import { inputRequired, working } from "../../../src/protocol/events.js";
import { beginTask } from "../../support/handler.js";
import { heldStore } from "../../support/held-store.js";
import { errorOf, historyOf, linesOf, stateOf, taskOf } from "../../support/say.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

describe("a message that arrives while its turn ends", () => {
  it("a message that arrives while its turn ends starts the next turn, if the last write sees it", async () => {
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
    expect(held.heldCount).toEqual([1]);
    const lines = linesOf(served.stream("late", { taskId }));
    await settle();
    held.release();
    expect(await lines).toEqual(["task INPUT_REQUIRED", "status INPUT_REQUIRED"]);
    expect(turns).toEqual(["go", "late"]);
    expect(historyOf(await served.get(taskId))).toEqual(["user: go", "agent: go?", "user: late"]);
  });

  it("a message that arrives while its turn ends is refused when the end is terminal", async () => {
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

  it("a message that arrives while its turn ends queues after an earlier wake, which starts its own turn", async () => {
    const gate = Promise.withResolvers<void>();
    const turns: string[] = [];
    await using served = await beginTask({
      async *agent({ text, cause, wake }) {
        turns.push([cause, text, wake].join(" ").trim());
        yield inputRequired("?");
        await gate.promise;
      },
    });
    const { store, taskId } = served;
    const head = await store.head({ agent: "", tenant: "", owner: "alice" }, taskId);
    expect(await store.put(head?.key ?? 0, { id: "w", kind: "wake", wake: 7 }, 16)).toBe("stored");
    const answer = served.send("more", { taskId });
    await settle();
    gate.resolve();
    expect(historyOf(taskOf(await answer))).toEqual(["user: go", "agent: ?", "agent: ?", "user: more"]);
    await settle();
    expect(await store.head({ agent: "", tenant: "", owner: "alice" }, taskId)).toMatchObject({ holder: "" });
    expect((await store.inbox(head?.key ?? 0)).entries).toEqual([]);
    expect(turns).toEqual(["message go", "wake go 7", "message more"]);
  });

  it("a message that arrives while its turn ends yields to a cancel that arrives as well", async () => {
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
