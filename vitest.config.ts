import { statfsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { bundledThread } from "./test/support/bundled-thread.js";

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// Many tests start processes, or threads of a database: what one has compiled the next need not.
process.env["NODE_COMPILE_CACHE"] ??= source(".cache/compiled");
// Databases of tests survive killed processes, not a crash of the machine: they need not wait for its disk.
if (process.env["TMPDIR"] === undefined && bytesFree("/dev/shm") >= 4 * 2 ** 30) process.env["TMPDIR"] = "/dev/shm";

function bytesFree(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

/** Tests of `npm run test:sweeps` alone: slow with any number of seeds, or because they wait for processes. */
export const slow = [
  "test/core/store-faults/hard-days.test.ts",
  "test/bench/run.test.ts",
  "test/cli/{demo/store,serve/watch}.test.ts",
  "test/client/flat.test.ts",
  "test/examples/{approval,client-resume,durable,replicas}.test.ts",
  "test/server/overload/{growing,out-of-memory}.test.ts",
  "test/store/postgres/{away,closing,contract-pooled,leases,long-migration}.test.ts",
];

/** The entry points of the package, as sources. The first that fits counts. */
export const alias = {
  "trivium/client": source("./src/client/index.ts"),
  "trivium/sqlite": source("./src/store/sqlite/index.ts"),
  "trivium/postgres": source("./src/store/postgres/index.ts"),
  "trivium/express": source("./src/mounting/express.ts"),
  "trivium/fastify": source("./src/mounting/fastify.ts"),
  "trivium/hono": source("./src/mounting/hono.ts"),
  "trivium/next": source("./src/mounting/next.ts"),
  "trivium/testing": source("./src/testing/index.ts"),
  "trivium/auth": source("./src/auth/schemes/index.ts"),
  "trivium/a2a-js": source("./src/executor/index.ts"),
  trivium: source("./src/index.ts"),
};

/** The tests that take longest. */
export const longest = [
  "browser/client",
  "store/sql/sqlite-contract",
  "cli/login/login",
  "store/postgres/contract",
  "callers/agents-on-one-store",
  "isolation/sweep",
  "stream/faults",
  "bad-input/sockets",
  "bad-input/fields",
  "cli/serve",
  "cli/doctor",
  "e2e/sends/streaming",
  "bad-input/agent-garbage",
  "callers/who-is-asking",
  "callers/keep-claims",
];

/** What takes longest begins first, so that one core does not wait for the other at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = longest.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      return place < 0 ? longest.length : place;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  resolve: { alias },
  plugins: [bundledThread()],
  test: {
    include: ["test/**/*.test.ts"],
    exclude: [
      ...["crash", "interop", "journeys", "package", "proxies", "replicas", "runtimes"].map(
        (folder) => `test/${folder}/**`,
      ),
      ...slow,
    ],
    // On a machine that is busy a process takes long to start; what is waited for comes all the same.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 30_000 } },
    setupFiles: "test/support/setup.ts",
    // What a test expects of the log, it reads from a logger of its own.
    env: { TRIVIUM_LOG: "silent" },
    // A file leaves behind what it found: those of one worker share their modules, which saves half of the time.
    isolate: false,
    // Much of it is waiting.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
  },
});
