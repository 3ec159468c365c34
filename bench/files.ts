import { mkdtempSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { programs, type Server, startServer } from "./child.ts";

/** Who stands in the rows of durable stores: our stores and that of the SDK, each on a file of its own. */
export type FileSide = "ours" | "ours FULL" | "peer";

/** A server on a file of SQLite in a temporary folder, which goes with it unless the file was given. */
export interface FileServer extends Server {
  readonly file: string;
}

export async function startOnFile(side: FileSide, path?: string): Promise<FileServer> {
  await using opening = new AsyncDisposableStack();
  const file = path ?? join(opening.use(temporaryFolder()).path, "tasks.db");
  const server = opening.use(
    await startServer(programs[side === "peer" ? "peer" : "ours"], [storeArgument(side, file)]),
  );
  const resources = opening.move();
  return { ...server, file, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

function storeArgument(side: FileSide, file: string): string {
  if (side === "peer") return file;
  return `sqlite:${side === "ours FULL" ? "FULL" : "NORMAL"}:${file}`;
}

export interface TemporaryFolder extends Disposable {
  readonly path: string;
}

export function temporaryFolder(): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), "trivium-bench-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/**
 * How many transactions have been committed to a file in WAL mode since it was opened: `iChange` of the index that its
 * users share. It is looked at from outside, the same way whoever writes.
 */
export async function commitsTo(file: string): Promise<number> {
  const index = await open(`${file}-shm`);
  try {
    const { buffer } = await index.read(Buffer.alloc(4), 0, 4, 8);
    return buffer.readUInt32LE();
  } finally {
    await index.close();
  }
}

/** Bytes of a database that nobody has open, without pages that are free. */
export function bytesOf(file: string): number {
  const database = new DatabaseSync(file);
  try {
    database.exec("pragma wal_checkpoint(truncate)");
    const value = (name: string) => Number(database.prepare(`pragma ${name}`).get()?.[name]);
    return (value("page_count") - value("freelist_count")) * value("page_size");
  } finally {
    database.close();
  }
}
