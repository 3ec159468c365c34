import type { JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Turn } from "../../../src/core/agent.js";
import { noop } from "../../../src/protocol/async/noop.js";
import { reply } from "../../../src/protocol/events.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { FaultPlan, type FaultWay, faultStore } from "../../support/fault-store.js";
import { startHandler, type TestHandlerOptions } from "../../support/handler.js";
import { createVirtualClock, turnUntil } from "../../support/virtual-clock.js";

/** A turn in each of the contexts. */
async function turnsIn(contexts: readonly string[], options: Partial<TestHandlerOptions> = {}) {
  const turns: Turn[] = [];
  const served = startHandler({
    ...options,
    agent: async (turn) => {
      turns.push(turn);
      return reply("ok");
    },
  });
  for (const contextId of contexts) await served.send("go", { contextId });
  return { served, turns, states: turns.map(({ context }) => context) };
}

const increment = (old: JsonValue | undefined): number => Number(old ?? 0) + 1;

describe("the state of a context", () => {
  it("the state of a context is shared by its tasks, and by no other context", async () => {
    const { served, states } = await turnsIn(["a", "a", "b"]);
    await using _ = served;
    expect(await states[0]?.get("cart")).toBeUndefined();
    expect(await states[0]?.update("cart", () => ["apple"])).toEqual(["apple"]);
    expect([await states[1]?.get("cart"), await states[2]?.get("cart")]).toEqual([["apple"], undefined]);
    expect(await states[1]?.update("cart", () => undefined)).toBeUndefined();
    expect(await states[0]?.get("cart")).toBeUndefined();
  });

  it("the state of a context is read by a schema, which gives it a type and blames no caller", async () => {
    const { served, states } = await turnsIn(["a"]);
    await using _ = served;
    const [state] = states;
    const cart = z.object({ items: z.array(z.string()) });
    expect(await state?.get("cart", cart)).toBeUndefined();
    await state?.update("cart", () => ({ items: ["apple"], old: 1 }));
    expect((await state?.get("cart", cart))?.items[0]).toBe("apple");
    await state?.update("cart", () => ({ items: [7] }));
    const reading = state?.get("cart", cart);
    await expect(reading).rejects.toThrow(TypeError);
    await expect(reading).rejects.toThrow(
      "the state of the context does not fit: cart.items[0] does not match its schema",
    );
    await expect(
      state?.get(
        "cart",
        z.object({}).refine(async () => true),
      ),
    ).rejects.toThrow(TypeError);
  });

  it("the state of a context loses no change of several turns at once: the function runs again", async () => {
    const { served, states } = await turnsIn(["a", "a"]);
    await using _ = served;
    let runs = 0;
    const counted = (old: JsonValue | undefined) => {
      runs += 1;
      return increment(old);
    };
    await Promise.all(states.flatMap((state) => Array.from({ length: 10 }, () => state.update("count", counted))));
    expect(await states[0]?.get("count")).toBe(20);
    expect(runs).toBeGreaterThan(20);
  });

  it.each<[FaultWay]>([["fails"], ["fails after its effect"], ["acts late"]])(
    "the state of a context changes once when its write %s",
    async (way) => {
      const clock = createVirtualClock();
      let spoil = false;
      const plan = new FaultPlan({
        clock,
        hangMs: 500,
        spoil: ({ method }) => {
          if (!spoil || method !== "writeContextValue") return undefined;
          spoil = false;
          return way;
        },
      });
      const { served, states } = await turnsIn(["a"], { clock, store: faultStore(memoryTaskStore({ clock }), plan) });
      await using _ = served;
      spoil = true;
      const changed = states[0]?.update("count", increment);
      await turnUntil(clock, Promise.resolve(changed).then(noop));
      expect(await changed).toBe(1);
      await clock.advance(1_000);
      expect([plan.spoiled, await states[0]?.get("count")]).toEqual([1, 1]);
    },
  );

  it("a state beyond its size is refused with the limit and the key", async () => {
    const { served, states } = await turnsIn(["a"]);
    await using _ = served;
    await states[0]?.update("kept", () => 1);
    await expect(states[0]?.update("large", () => "x".repeat(65_536))).rejects.toMatchObject({
      code: "resourceExhausted",
      message:
        'the state of the context is full: with the new value of "large" it has more than 65536 bytes (contextStateMaxBytes)',
    });
    expect([await states[0]?.get("large"), await states[0]?.get("kept")]).toEqual([undefined, 1]);
  });

  it("context state takes JSON under a key of some length, and rejects with what the function throws", async () => {
    const { served, states } = await turnsIn(["a"]);
    await using _ = served;
    await expect(states[0]?.update("f", () => (() => 1) as never)).rejects.toThrow(
      new TypeError('"f" in the state of a context must be JSON, not function'),
    );
    const broken = new Error("broken");
    await expect(
      states[0]?.update("f", () => {
        throw broken;
      }),
    ).rejects.toBe(broken);
    await expect((async () => states[0]?.get(""))()).rejects.toThrow(
      "a key of turn.context is a text of one character or more",
    );
    await expect(states[0]?.get("x".repeat(2_000))).resolves.toBeUndefined();
    await expect(states[0]?.update("x".repeat(2_000), () => 1)).rejects.toMatchObject({ code: "invalidParams" });
  });
});
