import type { InsertedTask } from "../sql/inserted-head.js";
import { createKyselyBackend } from "../sql/kysely-backend.js";
import type { Backend } from "../sql/rows.js";
import type { SqliteDatabase } from "./database.js";
import { type Fault, faultFrom, type GroupAnswer, runRequest } from "./messages.js";
import type { GroupWrite, HotWrite } from "./packed.js";

// Concurrent writes that are committed together.

/**
 * Runs writes in one transaction. A write that throws fails alone; a failure of the database itself (full, read-only)
 * fails all. A created task is answered with what the database added to it.
 */
export async function runGroup(database: SqliteDatabase, writes: readonly GroupWrite[]): Promise<GroupAnswer> {
  const [only] = writes;
  // A single write is its own transaction, which is cheaper than a group of one.
  if (only?.kind === "call" && writes.length === 1)
    return { values: [await runRequest(only.call, database.backend)], faults: [] };
  try {
    return { values: await runTogether(database, writes), faults: [] };
  } catch (error) {
    if (isDatabaseFault(faultFrom(error))) throw error;
    // Nothing of it was written.
    return inOneTransaction(database, (backend) => runSeparately(database, writes, backend));
  }
}

function runTogether(database: SqliteDatabase, writes: readonly GroupWrite[]): Promise<readonly unknown[]> {
  if (writes.every(isHot)) return database.hot.run(writes);
  return inOneTransaction(database, async (backend) => {
    const values: unknown[] = [];
    for (const write of writes) values.push(await perform(write, backend));
    return values;
  });
}

function isHot(write: GroupWrite): write is HotWrite {
  return write.kind !== "call";
}

async function perform(write: GroupWrite, backend: Backend): Promise<unknown> {
  if (write.kind === "call") return runRequest(write.call, backend);
  if (write.kind === "conversations") return backend.addToConversations(write.rows);
  if (write.kind === "append") return backend.append(write.row);
  const { key, incarnation, holderLive } = await backend.create(write.row);
  return { key, incarnation, holderLive } satisfies InsertedTask;
}

function inOneTransaction<T>({ db, dialect, hot }: SqliteDatabase, run: (backend: Backend) => Promise<T>): Promise<T> {
  return db.transaction().execute((transaction) => run(createKyselyBackend({ db: transaction, dialect, hot })));
}

/** Repeats the group with a savepoint for each write, which is slower and needed only when one fails. */
async function runSeparately(
  { connection }: SqliteDatabase,
  writes: readonly GroupWrite[],
  backend: Backend,
): Promise<GroupAnswer> {
  const values: unknown[] = [];
  const faults: { index: number; fault: Fault }[] = [];
  for (const [index, write] of writes.entries()) {
    connection.prepare("savepoint each").run();
    try {
      values.push(await perform(write, backend));
    } catch (error) {
      const fault = faultFrom(error);
      if (isDatabaseFault(fault)) throw error;
      connection.prepare("rollback to each").run();
      values.push(undefined);
      faults.push({ index, fault });
    }
    connection.prepare("release each").run();
  }
  return { values, faults };
}

/** Whether the database itself failed, so that every other write would fail too. */
function isDatabaseFault(fault: Fault): boolean {
  return fault.kind === "store" && fault.failure !== "other";
}
