import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// Servers that are killed again and again: `CRASH_KILLS` says how often, `CRASH_SEED` repeats a run.
export default defineConfig({
  resolve: { alias: { trivium: fileURLToPath(new URL("./src/index.ts", import.meta.url)) } },
  test: {
    include: ["test/crash/**/*.test.ts"],
    env: { TRIVIUM_LOG: "silent" },
    testTimeout: 3_600_000,
    hookTimeout: 120_000,
    maxWorkers: "100%",
  },
});
