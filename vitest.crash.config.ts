import { defineConfig } from "vitest/config";
import { alias } from "./vitest.config.js";

// Servers that are killed again and again: `CRASH_KILLS` says how often, `CRASH_SEED` repeats a run.
export default defineConfig({
  resolve: { alias },
  test: {
    include: ["test/crash/**/*.test.ts"],
    setupFiles: "test/support/setup.ts",
    env: { TRIVIUM_LOG: "silent" },
    testTimeout: 3_600_000,
    hookTimeout: 120_000,
    maxWorkers: "100%",
  },
});
