import { defineConfig, mergeConfig } from "vitest/config";
import base from "./vitest.config.js";

// The searches of `npm test` with many more seeds, and those that are slow with any number of them.
const sweeps = mergeConfig(base, {
  test: {
    env: { SIM_SEEDS: process.env["SIM_SEEDS"] ?? "10000", SIM_SQLITE_SEEDS: process.env["SIM_SQLITE_SEEDS"] ?? "300" },
  },
});
sweeps.test.include = [
  "test/core/simulator*.test.ts",
  "test/core/store-faults/hard-days.test.ts",
  "test/bench/run.test.ts",
];
sweeps.test.exclude = [];

export default defineConfig(sweeps);
