import { closeSync, openSync, writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/** Overwrites the first page of a table or an index in a file that nobody has open. */
export function damagePage(path: string, name: string): void {
  const database = new DatabaseSync(path);
  database.exec("pragma wal_checkpoint(truncate)");
  const root = Number(database.prepare("select rootpage from sqlite_master where name = ?").get(name)?.["rootpage"]);
  const pageBytes = Number(database.prepare("pragma page_size").get()?.["page_size"]);
  database.close();
  const fd = openSync(path, "r+");
  writeSync(fd, Buffer.alloc(pageBytes, 0xff), 0, pageBytes, (root - 1) * pageBytes);
  closeSync(fd);
}
