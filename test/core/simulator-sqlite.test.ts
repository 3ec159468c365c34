import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSqlStore } from "../../src/store/sql/task-store.js";
import { localSqliteBackend } from "../../src/store/sqlite/database.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { type Immediates, watchImmediates } from "../support/immediates.js";
import { waitsFor } from "../support/waits-for.js";
import { simulate } from "./simulator/simulate.js";

// To replay one failing seed with a trace: SIM_SEED=123 npx vitest run test/core/simulator-sqlite.test.ts
const { SIM_SEED, SIM_SQLITE_SEEDS = "20", SIM_FROM = "1" } = process.env;
const seeds = SIM_SEED === undefined ? Number(SIM_SQLITE_SEEDS) : 1;
const first = Number(SIM_SEED ?? SIM_FROM);
/**
 * Starting a thread takes a hundred times longer than running a world, so only one world in this many uses a database
 * thread.
 */
const threadEvery = 20;

describe("the core on SQLite, in a world where everything goes wrong", () => {
  let immediates: Immediates;
  beforeAll(() => {
    immediates = watchImmediates();
  });
  afterAll(() => immediates.restore());

  it(`the core on SQLite loses nothing in ${seeds} worlds where everything goes wrong`, {
    timeout: 600_000,
  }, async () => {
    for (let seed = first; seed < first + seeds; seed++) {
      const answers = waitsFor(immediates);
      const { violations, lines } = await simulate(seed, answers, {
        traced: SIM_SEED !== undefined,
        isEncoded: true,
        makeStore({ clock, finishedLogMs }) {
          const options = { path: ":memory:", clock, retention: { logsMs: finishedLogMs } };
          const here = () => createSqlStore(localSqliteBackend(options, clock.now), options);
          return answers.of(seed % threadEvery === 0 ? sqliteStore(options) : here());
        },
      });
      const story = lines.length === 0 ? "" : `\n${lines.join("\n")}\n`;
      expect.soft(violations, `${story}SIM_SEED=${seed}`).toEqual([]);
      if (violations.length > 0) break;
    }
  });
});
