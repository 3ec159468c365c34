import { defineConfig } from "vitest/config";

// What you get when you install the package, and examples with packages of their own; needs a registry.
export default defineConfig({
  test: {
    include: ["test/{package,journeys}/**/*.test.ts"],
    globalSetup: "test/package/pack.ts",
    setupFiles: "test/support/setup.ts",
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
