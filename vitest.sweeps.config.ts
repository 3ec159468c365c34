import { defineConfig, mergeConfig } from "vitest/config";
import base, { slow } from "./vitest.config.js";

// The searches of `npm test` with many more seeds, and the tests that it leaves out.
const sweeps = mergeConfig(base, {
  test: {
    env: {
      SIM_SEEDS: process.env["SIM_SEEDS"] ?? "10000",
      SIM_SQLITE_SEEDS: process.env["SIM_SQLITE_SEEDS"] ?? "300",
      // Of test/support/tries.ts.
      TRIVIUM_TRIES: "many",
    },
  },
});
sweeps.test.include = [
  ...slow,
  "test/core/simulator*.test.ts",
  "test/core/store-faults/*.test.ts",
  // What imports test/support/tries.ts.
  "test/binding/faults/{cuts,pieces}.test.ts",
  "test/examples/demo/text-figures.test.ts",
  "test/client/answer/long-stream.test.ts",
  "test/client/stream/{difference,faults,faults-random}.test.ts",
  "test/core/memory-bound.test.ts",
  "test/core/task/no-loss.test.ts",
  "test/e2e/bad-input/{agent-garbage,random}.test.ts",
  "test/e2e/isolation/{histories,sweep}.test.ts",
  "test/protocol/codec/binary/{reader,writer}.test.ts",
  "test/server/ledger-heap.test.ts",
  "test/store/memory/contract.test.ts",
  "test/store/postgres/contract.test.ts",
  "test/store/sql/sqlite-contract.test.ts",
  "test/store/sql/{contract,hot-groups,periods}.test.ts",
  "test/version/v0.3/proto/messages.test.ts",
];
sweeps.test.exclude = [];

export default defineConfig(sweeps);
