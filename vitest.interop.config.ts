import { defineConfig } from "vitest/config";
import { alias } from "./vitest.config.js";

// What others have made: official SDKs as clients and as agents, and other runtimes; `bash test/interop/setup.sh` and
// `bash test/runtimes/setup.sh` install them.
export default defineConfig({
  resolve: { alias },
  test: {
    include: ["test/interop/**/*.test.ts", "test/runtimes/**/*.test.ts"],
    setupFiles: "test/support/setup.ts",
    env: { TRIVIUM_LOG: "silent" },
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: "100%",
  },
});
