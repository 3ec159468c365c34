import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// Official SDKs of other makers as clients and as agents; `bash test/interop/setup.sh` installs them.
export default defineConfig({
  resolve: { alias: { trivium: fileURLToPath(new URL("./src/index.ts", import.meta.url)) } },
  test: {
    include: ["test/interop/**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
