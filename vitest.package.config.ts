import { defineConfig } from "vitest/config";

// What somebody gets who installs the package; needs a registry.
export default defineConfig({
  test: { include: ["test/package/**/*.test.ts"], testTimeout: 300_000, hookTimeout: 300_000 },
});
