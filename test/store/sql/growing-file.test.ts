import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { type FileWatch, watchFile } from "../../../src/store/sqlite/file-watch.js";
import { temporaryFolder } from "./temporary-folder.js";

// What SQLite itself does to a file that grows, shrinks and is checkpointed is never taken for another file.

function openDatabase(path: string): DatabaseSync {
  const db = new DatabaseSync(path);
  db.exec("pragma journal_mode = wal; pragma wal_autocheckpoint = 0; create table if not exists t (x)");
  return db;
}

const kinds = ["insert", "insert", "insert", "delete", "vacuum", "index"] as const;

function change(db: DatabaseSync, kind: (typeof kinds)[number], round: number): void {
  if (kind === "insert") db.prepare("insert into t values (zeroblob(?))").run(20_000 * (round + 1));
  if (kind === "delete") db.exec("delete from t where rowid % 3 = 0");
  if (kind === "vacuum") db.exec("vacuum");
  if (kind === "index") db.exec(`create index i${round} on t (length(x))`);
}

const checkpoint = (db: DatabaseSync): void => db.exec("pragma wal_checkpoint(truncate)");

it.each([1, 2, 3])("a database that %i connections change and checkpoint stays the same file", async (count) => {
  const path = `${await temporaryFolder()}/tasks.db`;
  const connections = Array.from({ length: count }, () => openDatabase(path));
  connections.map(checkpoint);
  const watch = (await watchFile(path, path)) as FileWatch;
  for (let round = 0; round < 60; round++) {
    const db = connections[(round * 7) % count] as DatabaseSync;
    change(db, kinds[round % kinds.length] ?? "insert", round);
    if (round % 2 === 0) checkpoint(connections[round % count] as DatabaseSync);
    expect(await watch.check(), `round ${round}`).toBeUndefined();
  }
  for (const db of connections) db.close();
  await watch.close();
});
