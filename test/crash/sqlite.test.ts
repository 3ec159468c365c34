import { copyFile, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "vitest";
import { crashRun, type StoreUnderTest } from "./crash-run.js";
import { expectWhole, kills, seed } from "./options.js";

const sqlite: StoreUnderTest = { place: (folder) => join(folder, "tasks.db"), damage: damageOf };

describe.each([
  { agent: "that cannot be run again", restartable: false },
  { agent: "that can be run again", restartable: true },
])("a server on SQLite with an agent $agent", ({ restartable }) => {
  it("a server on SQLite keeps every acknowledged event through repeated kills", async ({ signal }) => {
    expectWhole(await crashRun({ store: sqlite, kills, seed, restartable, signal }), restartable);
  });
});

// Checks a copy: opening a database repairs unfinished writes, which the server itself must do.
async function damageOf(path: string): Promise<readonly string[]> {
  const copies = await mkdtemp(join(tmpdir(), "trivium-look-"));
  try {
    for (const name of await readdir(dirname(path))) {
      if (name.startsWith(basename(path)) && !name.endsWith("-shm")) {
        await copyFile(join(dirname(path), name), join(copies, name));
      }
    }
    const database = new DatabaseSync(join(copies, basename(path)));
    const lines = database
      .prepare("pragma integrity_check")
      .all()
      .map((row) => String(row["integrity_check"]));
    database.close();
    return lines.filter((line) => line !== "ok").map((line) => `the file is damaged: ${line}`);
  } finally {
    await rm(copies, { recursive: true });
  }
}
