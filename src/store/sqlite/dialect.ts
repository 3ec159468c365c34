import { type RawBuilder, sql } from "kysely";
import { mapInput, Param, type QueryInput } from "../sql/compile.js";
import type { LogRange, SqlDialect } from "../sql/dialect.js";
import { runStatement, type SqliteConnection } from "./driver.js";

/** `now`: the store's clock. `connection`: runs statements directly while it is free. */
export function sqliteDialect(now: () => number, connection?: SqliteConnection | undefined): SqlDialect {
  return {
    shard: "",
    locksRows: false,
    changesKeys: false,
    // It serves one process, which counts in memory.
    sharesRates: false,
    types: { serial: "integer primary key autoincrement", integer: "integer", bytes: "blob" },
    tableEnd: (clustered) => (clustered ? sql`without rowid, strict` : sql`strict`),
    now: (late = false) => sql<number>`${late ? new Param(now) : now()}`,
    // A database in memory has no file.
    databaseName: sql`(select nullif(file, '') from pragma_database_list where name = 'main')`,
    // Also runs in shells older than Node's SQLite: `unixepoch('subsec')` is new in 3.42.
    nowText: "cast(strftime('%s', 'now') as integer) * 1000",
    joinScript: joinForShell,
    isOneOf: (column, numbers) =>
      sql`${sql.ref(column)} in (select value from json_each(${mapInput(numbers, (list) => JSON.stringify(list))}))`,
    rare: (condition) => sql`unlikely(${condition})`,
    ranges: createRangeTable,
    async hasTable(db, table) {
      const { rows } = await sql`select 1 from sqlite_master where type = 'table' and name = ${table}`.execute(db);
      return rows.length > 0;
    },
    runDirectly: (query, within) =>
      connection !== undefined && (within || connection.isFree()) ? runStatement(connection, query) : undefined,
    // SQLite has no statement limit; locks of other processes are waited for as in any call.
    withoutLimits: (db, run) => (db.isTransaction ? run(db) : db.transaction().execute(run)),
    // A write transaction is exclusive.
    lockMigrations: async () => {},
  };
}

function createRangeTable(ranges: QueryInput<readonly LogRange[]>): RawBuilder<LogRange> {
  const rows = mapInput(ranges, (list) => JSON.stringify(list.map(({ key, after, upto }) => [key, after, upto])));
  return sql`(select value ->> 0 as key, value ->> 1 as after, value ->> 2 as upto from json_each(${rows}))`;
}

// The shell continues after an error, and would commit the statements around a failed one. But everything up to a line that
// ends with a semicolon is one input: its first error ends it, and the end of the file rolls back the open transaction. So
// only the last line ends with a semicolon. SQLite stores the text of a statement without the break after its first word.
function joinForShell(statements: readonly string[]): string {
  const note =
    "-- Only the last line ends with a semicolon: so the sqlite3 shell stops at an error, and commits nothing.\n";
  return `${note}${statements.map((statement) => statement.replace(" ", "\n")).join("; ")}\n;\n`;
}
