import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Immediates, watchImmediates } from "../support/immediates.js";
import { simulate } from "./simulator/simulate.js";

// To replay one failing seed with a trace: SIM_SEED=123 npx vitest run test/core/simulator.test.ts
const { SIM_SEED, SIM_SEEDS = "150", SIM_FROM = "1" } = process.env;
const seeds = SIM_SEED === undefined ? Number(SIM_SEEDS) : 1;
const first = Number(SIM_SEED ?? SIM_FROM);

describe("the core, in a world where everything goes wrong", () => {
  let immediates: Immediates;
  beforeAll(() => {
    immediates = watchImmediates();
  });
  afterAll(() => immediates.restore());

  // Requirements: V1-STREAM-9
  it(`the core loses nothing in ${seeds} worlds where everything goes wrong`, { timeout: 1_800_000 }, async () => {
    for (let seed = first; seed < first + seeds; seed++) {
      const { violations, lines } = await simulate(seed, immediates, { traced: SIM_SEED !== undefined });
      const story = lines.length === 0 ? "" : `\n${lines.join("\n")}\n`;
      expect.soft(violations, `${story}SIM_SEED=${seed}`).toEqual([]);
      if (violations.length > 0) break;
    }
  });
});
