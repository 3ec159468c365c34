import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { DatabaseTaskStore } from "@a2a-js/sdk/server/database";
import Database from "better-sqlite3";
import { Kysely, SqliteDialect } from "kysely";

/**
 * The SDK's store on a file of SQLite, set up as its guide says: tables by its own command, Kysely over better-sqlite3,
 * WAL. `synchronous` is the quicker of the two settings that keep the file whole.
 */
export async function sqliteTaskStore(file: string): Promise<DatabaseTaskStore> {
  const command = fileURLToPath(new URL("../node_modules/@a2a-js/sdk/dist/cli/a2a_db.js", import.meta.url));
  execFileSync(process.execPath, [command, "upgrade", "--url", `sqlite:${file}`], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const database = new Database(file);
  database.pragma("journal_mode = wal");
  database.pragma("synchronous = normal");
  return new DatabaseTaskStore(new Kysely({ dialect: new SqliteDialect({ database }) }));
}
