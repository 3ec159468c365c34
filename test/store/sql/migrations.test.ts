import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { migrate, migrationSql, schemaStatus } from "../../../src/store/sql/migrate.js";
import { owned } from "../../support/owned.js";
import { openDatabase } from "./database.js";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-migrations-"));
  path = join(folder, "tasks.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The database's whole catalog of tables and indexes. */
function schemaOf(database: DatabaseSync) {
  return database.prepare("select type, name, tbl_name, sql from sqlite_schema order by name").all();
}

/** Another process that migrates and holds its transaction open for a while after reporting it. */
async function migratingProcess(sql: string) {
  const [first, ...rest] = sql.split("; ");
  const program = `
    const { DatabaseSync } = require("node:sqlite");
    const database = new DatabaseSync(process.argv[1]);
    database.exec(${JSON.stringify(`${first} immediate`)});
    process.stdout.write("begun");
    setTimeout(() => {
      for (const statement of ${JSON.stringify(rest)}) database.exec(statement);
    }, 300);
  `;
  const child = owned(spawn(process.execPath, ["-e", program, path], { stdio: ["ignore", "pipe", "inherit"] }));
  const stopped = once(child, "exit").then(([code]: unknown[]) => code);
  const [text]: unknown[] = await once(child.stdout, "data");
  return { text: String(text), stopped };
}

describe("migrations", () => {
  it("migrations create the tables in an empty database, and do nothing if they exist", async () => {
    const { context, database } = openDatabase(path);
    expect(await schemaStatus(context)).toMatchObject({
      version: 0,
      latest: 6,
      pending: [{ version: 1 }, { version: 2 }, { version: 3 }, { version: 4 }, { version: 5 }, { version: 6 }],
    });
    expect(await migrate(context)).toBe(0);
    const schema = schemaOf(database);
    expect(schema.length).toBeGreaterThan(15);
    expect(await migrate(context)).toBe(6);
    expect(schemaOf(database)).toEqual(schema);
    expect(await schemaStatus(context)).toEqual({ version: 6, latest: 6, pending: [] });
    await context.db.destroy();
  });

  it("migrations leave the tables of others alone", async () => {
    const { context, database } = openDatabase(path);
    database.exec("create table tasks (title text); insert into tasks values ('mine')");
    await migrate(context);
    expect(database.prepare("select title from tasks").all()).toMatchObject([{ title: "mine" }]);
    await context.db.destroy();
  });

  it("a migration waits for another process that is migrating, and does nothing after it", async () => {
    const { context, database } = openDatabase(path);
    const { text, stopped } = await migratingProcess(migrationSql(context));
    expect(text).toBe("begun");
    expect(await schemaStatus(context)).toMatchObject({ version: 0 });
    expect(await migrate(context)).toBe(6);
    expect(database.prepare("select version from trivium_schema").all()).toEqual(
      [1, 2, 3, 4, 5, 6].map((version) => ({ version })),
    );
    expect(await stopped).toBe(0);
    await context.db.destroy();
  });

  it("migrations leave nothing when a step fails", async () => {
    const { context, database } = openDatabase(path);
    database.exec("create table trivium_periods (mine text)");
    const before = schemaOf(database);
    await expect(migrate(context)).rejects.toThrow("trivium_periods");
    expect(schemaOf(database)).toEqual(before);
    await context.db.destroy();
  });

  it("migrations refuse a database that a newer release has made, and leave it as it is", async () => {
    const { context, database } = openDatabase(path);
    await migrate(context);
    database.exec("insert into trivium_schema values (7, 0)");
    const sentence = "the database has schema 7, this release knows up to 6: use a newer release of trivium";
    await expect(migrate(context)).rejects.toThrow(sentence);
    expect(await schemaStatus(context)).toEqual({ version: 7, latest: 6, pending: [] });
    await context.db.destroy();
  });

  it("migrations are the same when their text is executed by hand", async () => {
    const { context, database } = openDatabase(path);
    const text = migrationSql(context);
    await migrate(context);
    const byHand = new DatabaseSync(join(folder, "by-hand.db"));
    byHand.exec(text);
    expect(schemaOf(byHand)).toEqual(schemaOf(database));
    const other = openDatabase(join(folder, "by-hand.db"));
    expect(await migrate(other.context)).toBe(6);
    expect(migrationSql(context, 6)).toBe("");
    byHand.close();
    await Promise.all([context, other.context].map(({ db }) => db.destroy()));
  });
});
