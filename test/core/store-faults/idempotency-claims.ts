import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Immediates, watchImmediates } from "../../support/immediates.js";
import { tries } from "../../support/tries.js";
import { type FaultPoint, sweeps } from "./points.js";
import type { Scenario } from "./scenarios.js";
import { play } from "./sweep.js";

// To replay one point with the handlers' logs: FAULT_POINT="call 12, append, fails" npx vitest run
// test/core/store-faults -t "a cancel of"
const { FAULT_POINT } = process.env;

/** A sweep plays every point, `npm test` every fifth. */
const step = tries(5, 1);

/** The tests of some scenarios, each played once with every fault. */
export function describeScenarios(scenarios: readonly Scenario[]): void {
  describe.each(scenarios)("$name", (scenario) => {
    let immediates: Immediates;
    let calls: readonly string[] = [];
    beforeAll(async () => {
      immediates = watchImmediates();
      const played = await play(scenario, immediates);
      expect(played.violations).toEqual([]);
      calls = played.calls;
    });
    afterAll(() => immediates.restore());

    const holds = async (points: readonly FaultPoint[]): Promise<void> => {
      expect(calls).toContain("create");
      for (const [place, { name, fault }] of points.entries()) {
        if (FAULT_POINT === undefined ? place % step > 0 : name !== FAULT_POINT) continue;
        const { violations, spoiled, lines } = await play(scenario, immediates, fault);
        expect.soft(violations, FAULT_POINT === undefined ? name : `${name}\n${lines.join("\n")}`).toEqual([]);
        expect.soft(spoiled, name).toBeGreaterThan(0);
      }
    };

    const rows = sweeps.flatMap(({ ways, ...sweep }) => ways.map((way) => ({ ...sweep, way })));
    it.each(rows)("the task and its answers stay consistent when $title $way", ({ pointsOf, way }) =>
      holds(pointsOf(calls, way)),
    );
  });
}
