import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  // The first that fits counts.
  resolve: { alias: { "trivium/client": source("./src/client/index.ts"), trivium: source("./src/index.ts") } },
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/interop/**", "test/package/**"],
    testTimeout: 30_000,
    maxWorkers: "100%",
  },
});
