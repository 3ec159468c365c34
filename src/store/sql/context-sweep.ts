import { type SqlBool, sql } from "kysely";
import { type DbContext, inTransaction } from "./dialect.js";

/**
 * One batch of a pass over all contexts: deletes entries that are no longer shown, and contexts that have expired. At
 * most `limit` entries; `more`: the pass has not ended.
 */
export type ContextSweep = (
  context: DbContext,
  limit: number,
) => Promise<{ readonly entries: number; readonly more: boolean }>;

/** Contexts read in one batch. An index of those that are due would be written with every entry. */
const contextsPerBatch = 5_000;

/** A context with entries to delete, or one that has expired. */
interface DueContext {
  readonly key: number;
  readonly dropped: number;
  /** Entries up to this number are deleted. */
  readonly upTo: number;
  readonly isExpired: boolean;
}

/** Creates a sweep that remembers how far its pass is. */
export function createContextSweep(): ContextSweep {
  let position = 0;
  return async (context, limit) => {
    const last = await findBatchEnd(context, position);
    if (last === undefined) {
      position = 0;
      return { entries: 0, more: false };
    }
    const batch = await inTransaction(context, (within) => sweepRange(within, { after: position, upTo: last, limit }));
    position = batch.position;
    return { entries: batch.entries, more: true };
  };
}

/** Keys are dense, except where many contexts were deleted: a batch begins at the first one that is left. */
async function findBatchEnd({ db }: DbContext, after: number): Promise<number | undefined> {
  const row = await db
    .selectFrom("trivium_contexts")
    .select(sql<number | null>`min(key)`.as("first"))
    .where("key", ">", after)
    .executeTakeFirst();
  return typeof row?.first === "number" ? row.first + contextsPerBatch - 1 : undefined;
}

interface Range {
  readonly after: number;
  readonly upTo: number;
  readonly limit: number;
}

async function sweepRange(context: DbContext, range: Range): Promise<{ readonly entries: number; position: number }> {
  const due = await dueContexts(context, range);
  let entries = 0;
  let position = range.after;
  for (const each of due) {
    const deleted = await deleteEntries(context, each, range.limit - entries);
    entries += deleted.entries;
    // The rest of the context comes first in the next batch.
    if (deleted.more) return { entries, position };
    if (each.isExpired) await deleteContext(context, each.key);
    position = each.key;
  }
  return { entries, position: due.length < range.limit ? range.upTo : position };
}

async function dueContexts({ db, dialect }: DbContext, { after, upTo, limit }: Range): Promise<readonly DueContext[]> {
  const expired = sql<SqlBool>`expires_at is not null and expires_at <= ${dialect.now()}`;
  const shownFrom = sql<number>`case when hidden > last - max_entries then hidden else last - max_entries end`;
  const rows = await db
    .selectFrom("trivium_contexts")
    .select([
      "key",
      "dropped",
      "last",
      shownFrom.as("shown"),
      sql<number>`case when ${expired} then 1 else 0 end`.as("over"),
    ])
    .where("key", ">", after)
    .where("key", "<=", upTo)
    .where(sql<SqlBool>`(${expired} or dropped < ${shownFrom})`)
    .orderBy("key")
    .limit(limit)
    .$if(dialect.locksRows, (select) => select.forUpdate().skipLocked())
    .execute();
  return rows.map(({ key, dropped, last, shown, over }) => {
    const isExpired = Number(over) === 1;
    return { key, dropped, upTo: isExpired ? last : shown, isExpired };
  });
}

async function deleteEntries(
  { db }: DbContext,
  { key, dropped, upTo }: DueContext,
  limit: number,
): Promise<{ readonly entries: number; readonly more: boolean }> {
  const end = Math.min(upTo, dropped + Math.max(0, limit));
  if (end > dropped) {
    const oldEntries = db.selectFrom("trivium_conversations").where("context", "=", key).where("number", "<=", end);
    const { bytes } = await oldEntries
      .select(sql<number>`cast(coalesce(sum(bytes), 0) as bigint)`.as("bytes"))
      .executeTakeFirstOrThrow();
    await db.deleteFrom("trivium_conversations").where("context", "=", key).where("number", "<=", end).execute();
    await db
      .updateTable("trivium_contexts")
      .set({ dropped: end, bytes: sql<number>`bytes - ${bytes}` })
      .where("key", "=", key)
      .execute();
  }
  return { entries: end - dropped, more: end < upTo };
}

/** Deletes a context without entries. */
export async function deleteContext({ db }: DbContext, key: number): Promise<void> {
  await db.deleteFrom("trivium_context_values").where("context", "=", key).execute();
  await db.deleteFrom("trivium_contexts").where("key", "=", key).execute();
}
