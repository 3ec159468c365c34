import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import type { Hint } from "../../core/ports.js";
import { type ContractTest, collectTests, type MakeSignals, type Suite } from "./suite.js";

const movedHint: Hint = { kind: "moved", taskId: "t" };
const longestWaitMs = 5_000;

/**
 * Returns the tests that every implementation of `Signals` must pass, for any runner. Hints may be lost or duplicated,
 * so the tests publish each until it arrives.
 *
 * @example
 * ```ts
 * describe("our signals", () => {
 *   const make = async () => ({ here: openSignals(), there: openSignals() });
 *   for (const { name, run } of signalsContract(make)) it(name, run);
 * });
 * ```
 */
export function signalsContract(make: MakeSignals): readonly ContractTest[] {
  return collectTests((suite) => hintTests(suite, make));
}

function hintTests({ describe, it }: Suite, make: MakeSignals): void {
  describe("signals", () => {
    it("bring a hint to every listener, here and there", async () => {
      const { here, there } = await make();
      const listeners = [listen(here.subscribe), listen(there.subscribe)];
      for (const hint of [movedHint, { kind: "inbox", taskId: "u" }] as const) {
        await until(
          () => here.publish(hint),
          () => listeners.every(({ heard: received }) => received.has(JSON.stringify(hint))),
        );
      }
      for (const { end } of listeners) end();
    });
    it("reach no listener that has ended its subscription, and still reach the others", async () => {
      const { here, there } = await make();
      const [endedListener, openListener] = [listen(there.subscribe), listen(there.subscribe)];
      endedListener.end();
      endedListener.end();
      await until(
        () => here.publish(movedHint),
        () => openListener.heard.size > 0,
      );
      assert.equal(endedListener.heard.size, 0);
      openListener.end();
    });
    it("do not let a listener that throws hurt another, nor the one who publishes", async () => {
      const { here, there } = await make();
      const endBroken = there.subscribe(() => {
        throw new Error("broken");
      });
      const ear = listen(there.subscribe);
      await until(
        () => here.publish(movedHint),
        () => ear.heard.size > 0,
      );
      endBroken();
      ear.end();
    });
  });
}

function listen(subscribe: (listener: (hint: Hint) => void) => () => void) {
  const received = new Set<string>();
  return { heard: received, end: subscribe(({ kind, taskId }) => received.add(JSON.stringify({ kind, taskId }))) };
}

/** Repeats an action until its effect shows. Within one process, that is at once. */
async function until(act: () => void, isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + longestWaitMs;
  for (act(); !isSo(); act()) {
    assert.ok(Date.now() < deadline, `no hint was received within ${longestWaitMs} ms`);
    await setTimeout(20);
  }
}
