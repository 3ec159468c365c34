import { defineConfig } from "vitest/config";

// What you get when you install the package; needs a registry.
export default defineConfig({
  test: {
    include: ["test/package/**/*.test.ts"],
    globalSetup: "test/package/pack.ts",
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
