import { randomUUID } from "node:crypto";
import type { DbContext } from "./dialect.js";

/**
 * For a database that was put back to an earlier state: the numbers behind that are given again, to other events, so all
 * ids of events of tasks that may still get some are made ids of a log that is no more. Gives how many tasks those are.
 */
export async function renewIncarnations({ db, dialect }: DbContext): Promise<number> {
  const { numUpdatedRows } = await dialect.withoutLimits(db, (unlimited) =>
    unlimited
      .updateTable("trivium_tasks")
      .set({ incarnation: randomUUID().slice(0, 8) })
      .where("finished_at", "is", null)
      .executeTakeFirstOrThrow(),
  );
  return Number(numUpdatedRows);
}
