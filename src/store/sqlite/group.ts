import { createKyselyBackend } from "../sql/kysely-backend.js";
import type { Backend } from "../sql/rows.js";
import type { SqliteDatabase } from "./database.js";
import { type BackendCall, callBackend, type Fault, faultFrom, type GroupAnswer } from "./messages.js";

// Writes of a moment, committed together.

/**
 * Runs writes in one transaction. A write that throws fails alone; a failure of the database itself (it is full, it is
 * read-only) fails all.
 */
export async function runGroup(database: SqliteDatabase, calls: readonly BackendCall[]): Promise<GroupAnswer> {
  const [only] = calls;
  // A write that is alone is a transaction of its own, which costs less than one of many.
  if (only !== undefined && calls.length === 1)
    return { values: [await callBackend(only, database.backend)], faults: [] };
  try {
    const values = await inOneTransaction(database, async (backend) => {
      const values: unknown[] = [];
      for (const call of calls) values.push(await callBackend(call, backend));
      return values;
    });
    return { values, faults: [] };
  } catch (error) {
    if (isOfDatabase(faultFrom(error))) throw error;
    // Nothing of it was written.
    return inOneTransaction(database, (backend) => eachByItself(database, calls, backend));
  }
}

function inOneTransaction<T>({ db, dialect, hot }: SqliteDatabase, run: (backend: Backend) => Promise<T>): Promise<T> {
  return db.transaction().execute((transaction) => run(createKyselyBackend({ db: transaction, dialect, hot })));
}

/** The same again with a way back for each write: dearer, and needed only when one of them fails. */
async function eachByItself(
  { connection }: SqliteDatabase,
  calls: readonly BackendCall[],
  backend: Backend,
): Promise<GroupAnswer> {
  const values: unknown[] = [];
  const faults: { index: number; fault: Fault }[] = [];
  for (const [index, call] of calls.entries()) {
    connection.prepare("savepoint each").run();
    try {
      values.push(await callBackend(call, backend));
    } catch (error) {
      const fault = faultFrom(error);
      if (isOfDatabase(fault)) throw error;
      connection.prepare("rollback to each").run();
      values.push(undefined);
      faults.push({ index, fault });
    }
    connection.prepare("release each").run();
  }
  return { values, faults };
}

/** Whether it is the database that failed, so that no other write can do better. */
function isOfDatabase(fault: Fault): boolean {
  return fault.kind === "store" && fault.failure !== "other";
}
