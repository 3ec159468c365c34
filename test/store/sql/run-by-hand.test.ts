import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { openPostgres } from "../../../src/store/postgres/database.js";
import { migrate, migrationSql, schemaStatus } from "../../../src/store/sql/migrate.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { alice, newTask } from "../../../src/testing/contract/fixtures.js";
import { hasPostgres, runPsql, sharedPostgres, startTimeoutMs } from "../../support/postgres.js";
import { hasSqliteShell, runInShell } from "../../support/sqlite-shell.js";
import { openDatabase } from "./database.js";
import { temporaryFolder } from "./temporary-folder.js";

// The SQL of `trivium db sql`, in the databases' own shells, which go on after an error.

/** What a database has of Trivium: its tables and indexes, and the rows of the tables that a migration copies. */
function contentOf(path: string): unknown {
  const database = new DatabaseSync(path);
  try {
    const schema = database
      .prepare("select name, sql from sqlite_master where name like 'trivium_%' and sql is not null order by name")
      .all();
    const tables = schema
      .map(({ name }) => String(name))
      .filter((name) => name === "trivium_sends" || name === "trivium_schema");
    return { schema, rows: tables.map((table) => database.prepare(`select count(*) as count from ${table}`).get()) };
  } finally {
    database.close();
  }
}

async function textAfter(version: number): Promise<string> {
  const { context } = openDatabase();
  const text = migrationSql(context, version);
  await context.db.destroy();
  return text;
}

/** The statements of a script without those that begin and end it. */
function stepsOf(script: string): readonly string[] {
  return script.split("; ").slice(1, -1);
}

/** Makes a file as a release with an older schema left it, with the record of a send. */
async function makeOld(path: string, version: number): Promise<void> {
  if (version === 0) return;
  const steps = stepsOf(await textAfter(0));
  const last = steps.findIndex((step) => step.includes(`select ${version}, case`));
  const database = new DatabaseSync(path);
  for (const step of steps.slice(0, last + 1)) database.exec(step);
  database.exec(`insert into trivium_sends (tenant, owner, message_id, entry, digest, task_id, instance, attempt, seq, began_at, format)
    values ('', '', 'message', '', '', '', '', 1, 1, 1, 1)`);
  database.close();
}

const ways = [
  { name: "the sqlite3 shell", skipped: !hasSqliteShell, run: runInShell },
  {
    name: "node:sqlite",
    skipped: false,
    async run(path: string, script: string) {
      const database = new DatabaseSync(path);
      try {
        database.exec(script);
      } catch {
        // Closing rolls back what is open.
      } finally {
        database.close();
      }
      return "";
    },
  },
] as const;

for (const { name, skipped, run } of ways) {
  describe.skipIf(skipped)(`the SQL for SQLite, run by ${name},`, () => {
    it.each([0, 1, 2, 3, 4, 5])(
      "the SQL for SQLite, run by hand, makes of a file with schema %i one that a store can use",
      async (version) => {
        const path = `${await temporaryFolder()}/tasks.db`;
        await makeOld(path, version);
        expect(await run(path, await textAfter(version))).toBe("");
        const store = sqliteStore({ path });
        const { id } = await store.create(newTask());
        expect(await store.head(alice, id)).toMatchObject({ id });
        await store.close();
      },
    );

    it.each([0, 2])(
      "the SQL for SQLite, run by hand, leaves the file as it was wherever a statement fails (schema %i)",
      { timeout: 60_000 },
      async (version) => {
        const folder = await temporaryFolder();
        const script = await textAfter(version);
        const statements = script.split("; ");
        for (let position = 1; position < statements.length; position += 1) {
          const path = `${folder}/${position}.db`;
          await makeOld(path, version);
          const before = contentOf(path);
          await run(path, statements.toSpliced(position, 0, "insert\ninto nowhere values (1)").join("; "));
          expect(contentOf(path), `before ${statements[position]}`).toEqual(before);
        }
      },
    );

    it("the SQL for SQLite, run by hand, leaves a file of another version than it was made for as it was", async () => {
      const folder = await temporaryFolder();
      for (const [version, after] of [
        [3, 5],
        [3, 2],
        [5, 0],
        [0, 5],
      ] as const) {
        const path = `${folder}/${version}-${after}.db`;
        await makeOld(path, version);
        const before = contentOf(path);
        await run(path, await textAfter(after));
        expect(contentOf(path), `${version} by a script for ${after}`).toEqual(before);
      }
    });
  });
}

describe("a file that SQL has made in part, as earlier releases did in an older sqlite3,", () => {
  const sentence = /tables and no schema version: .*(?=.*restore the backup)(?=.*delete).*trivium db migrate/i;

  it("a file that SQL has made in part is refused with what to do", async () => {
    const path = `${await temporaryFolder()}/tasks.db`;
    const database = new DatabaseSync(path);
    for (const step of stepsOf(await textAfter(0)))
      if (!step.startsWith('insert\ninto "trivium_schema"')) database.exec(step);
    database.close();
    const store = sqliteStore({ path });
    await expect(store.open?.()).rejects.toMatchObject({
      failure: "incomplete",
      message: expect.stringMatching(sentence),
    });
    await store.close().catch(() => undefined);
    const { context } = openDatabase(path);
    await expect(schemaStatus(context)).rejects.toMatchObject({ failure: "incomplete" });
    await context.db.destroy();
  });

  it("a file that SQL has made in part is refused with what to do where it had tasks before", async () => {
    const path = `${await temporaryFolder()}/tasks.db`;
    await makeOld(path, 4);
    const database = new DatabaseSync(path);
    for (const step of stepsOf(await textAfter(4)))
      if (!step.startsWith('insert\ninto "trivium_schema"')) database.exec(step);
    database.close();
    const store = sqliteStore({ path });
    const message = expect.stringMatching(/schema 4, and parts of schema 5 .*already exists.*restore the backup/i);
    await expect(store.open?.()).rejects.toMatchObject({ failure: "incomplete", message });
    await store.close().catch(() => undefined);
  });
});

describe.skipIf(!hasPostgres)("the SQL for PostgreSQL, run by psql,", () => {
  it("the SQL for PostgreSQL, run by psql, makes a whole schema, or changes nothing when a statement fails", {
    timeout: startTimeoutMs,
  }, async () => {
    const server = await sharedPostgres();
    const url = await server.createDatabase();
    const { db, dialect, backend } = openPostgres({ url });
    const statements = migrationSql({ db, dialect })
      .split(";\n")
      .filter((statement) => statement !== "");
    const tables = () => server.query("select relname from pg_class where relname like 'trivium_%'", [], url);
    // PostgreSQL refuses all statements after an error alike.
    for (const position of [1, 2, Math.floor(statements.length / 2), statements.length - 1]) {
      const broken = statements.toSpliced(position, 0, "insert into nowhere values (1)");
      await runPsql(url, broken.map((statement) => `${statement};\n`).join(""));
      expect(await tables()).toEqual([]);
    }
    await runPsql(url, statements.map((statement) => `${statement};\n`).join(""));
    expect(await migrate({ db, dialect })).toBe(6);
    await backend.close();
  });
});
