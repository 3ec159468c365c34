import { randomUUID } from "node:crypto";
import type { DbContext } from "./dialect.js";

/**
 * For a database restored to an earlier state. Later record numbers will be assigned again to other events, so the
 * event ids of all unfinished tasks are invalidated by a new incarnation. Returns the number of those tasks.
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
