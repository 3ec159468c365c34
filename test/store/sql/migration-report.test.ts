import { DatabaseSync } from "node:sqlite";
import { completed, createAgent } from "trivium";
import { describe, expect, it } from "vitest";
import { createMigrationReport } from "../../../src/store/sql/migration-report.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { createTestClock } from "../../../src/testing/test-clock.js";
import { recordingLogger } from "../../support/recording-logger.js";
import { temporaryFolder } from "./temporary-folder.js";

function reported() {
  const clock = createTestClock();
  const lines: string[] = [];
  const { report, end } = createMigrationReport({ clock, report: (line) => lines.push(line) });
  const statement = (number: number) =>
    report({ kind: "statement", schema: 3, name: "labels", statement: number, statements: 4 });
  return { clock, lines, report, statement, end };
}

describe("the report of a migration", () => {
  it("the report of a migration logs only the end of a short one", async () => {
    const { clock, lines, report, statement } = reported();
    report({ kind: "begun", from: 2, to: 3 });
    report({ kind: "waiting" });
    statement(1);
    await clock.advance(400);
    statement(2);
    report({ kind: "done" });
    await clock.advance(60_000);
    expect(lines).toEqual(["the database has been migrated from schema 2 to 3 in 0.4 s"]);
  });

  it("the report of a migration logs a long one after a second, then every ten and each statement", async () => {
    const { clock, lines, report, statement } = reported();
    report({ kind: "begun", from: 1, to: 3 });
    report({ kind: "waiting" });
    await clock.advance(1_000);
    await clock.advance(2_500);
    statement(1);
    await clock.advance(7_500);
    await clock.advance(10_000);
    report({ kind: "done" });
    const prefix = "migrating the database from schema 1 to 3:";
    expect(lines).toEqual([
      `${prefix} waiting for others, 1 s so far`,
      `${prefix} schema 3 (labels), statement 1 of 4, 3.5 s so far`,
      `${prefix} schema 3 (labels), statement 1 of 4, 11 s so far`,
      `${prefix} schema 3 (labels), statement 1 of 4, 21 s so far`,
      "the database has been migrated from schema 1 to 3 in 21 s",
    ]);
  });

  it("the report of a migration logs nothing more once it has ended, even after a failure", async () => {
    const { clock, lines, report, end } = reported();
    report({ kind: "begun", from: 0, to: 3 });
    end();
    await clock.advance(60_000);
    expect(lines).toEqual([]);
  });
});

describe("a SQLite store that waits for its migration", () => {
  it("a SQLite store that waits for its migration logs the migration and its end to the agent's logger", async () => {
    const path = `${await temporaryFolder()}/tasks.db`;
    const other = new DatabaseSync(path);
    other.exec("pragma journal_mode = wal; begin immediate");
    const clock = createTestClock();
    const { log, logger } = recordingLogger();
    const store = sqliteStore({ path, busyTimeoutMs: 60_000, clock });
    const card = { name: "Waiting", description: "Migrates", version: "1.0.0" };
    const serving = createAgent({ card, store, logger, agent: async () => completed() });
    await expect.poll(() => clock.pending().length).toBe(1);
    await clock.advance(1_000);
    other.exec("commit");
    other.close();
    const agent = await serving;
    expect(log.map(({ message }) => message)).toContain(
      "migrating the database from schema 0 to 6: waiting for others, 1 s so far",
    );
    expect(log.at(-1)?.message).toBe("the database has been migrated from schema 0 to 6 in 1 s");
    await agent.close();
    await store.close();
  });
});
