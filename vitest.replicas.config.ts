import { defineConfig } from "vitest/config";
import { leftOut } from "./test/replicas/exceptions.js";
import { alias } from "./vitest.config.js";

/** Tests of `vitest.rolling.config.ts` alone. */
export const rolling = ["test/replicas/behind-proxies.test.ts"];

// Several servers on one PostgreSQL: the end-to-end cases by way of them, and what only happens between processes.
export default defineConfig({
  resolve: { alias },
  test: {
    include: ["test/e2e/**/*.test.ts", "test/replicas/**/*.test.ts", "test/proxies/**/*.test.ts"],
    exclude: [...leftOut.map((file) => `test/e2e/**/${file}`), ...rolling],
    globalSetup: "test/replicas/global-setup.ts",
    setupFiles: ["test/support/setup.ts", "test/replicas/setup.ts"],
    env: { TRIVIUM_LOG: "silent" },
    testTimeout: 90_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 30_000 } },
    isolate: false,
    maxWorkers: "100%",
  },
});
