import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// What others have made: official SDKs as clients and as agents, and other runtimes; `bash test/interop/setup.sh` and
// `bash test/runtimes/setup.sh` install them.
export default defineConfig({
  resolve: { alias: { "trivium/client": source("./src/client/index.ts"), trivium: source("./src/index.ts") } },
  test: {
    include: ["test/interop/**/*.test.ts", "test/runtimes/**/*.test.ts"],
    env: { TRIVIUM_LOG: "silent" },
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: "100%",
  },
});
