import { type Selectable, type SqlBool, sql } from "kysely";
import type {
  ContextValue,
  ContextValueResult,
  ContextValueWrite,
  ConversationBounds,
  ConversationQuery,
  Conversations,
} from "../../../core/ports.js";
import type { Scope } from "../../../protocol/context.js";
import { sizeOfContextValue } from "../../refusals.js";
import { takeWithin } from "../../take-within.js";
import { compile, type Params } from "../compile.js";
import { deleteContext } from "../context-sweep.js";
import { type DbContext, inTransaction } from "../dialect.js";
import type { Backend, StoredConversationRow } from "../rows.js";
import type { ConversationsTable } from "../schema.js";
import { inScope } from "../scope.js";

export function conversationQueries(
  context: DbContext,
): Omit<Pick<Backend, keyof Conversations>, "addToConversations"> {
  return {
    readConversation: (scope, contextId, query) => readConversation(context, { ...scope, contextId }, query),
    deleteConversation: (scope, contextId) => deleteConversation(context, { ...scope, contextId }),
    boundConversations: (scope, bounds) => boundConversations(context, scope, bounds),
    readContextValue: (scope, contextId, name) => valueByName.first(context, { ...scope, contextId, name }),
    writeContextValue: (scope, contextId, write) => writeValue(context, { ...scope, contextId }, write),
  };
}

interface ContextId extends Scope {
  readonly contextId: string;
}

async function readConversation(
  context: DbContext,
  id: ContextId,
  { limit, before = Number.MAX_SAFE_INTEGER, maxBytes }: ConversationQuery,
): Promise<readonly StoredConversationRow[]> {
  const sizes = await entrySizes.all(context, { ...id, before, limit });
  const [newest] = sizes;
  const oldest = takeWithin(sizes, ({ bytes }) => bytes, maxBytes).at(-1);
  if (newest === undefined || oldest === undefined) return [];
  const rows = await selectEntries.all(context, { context: newest.context, from: oldest.number, to: newest.number });
  return rows.map(entryFrom);
}

/** The shown entries of a context without their content, newest first. */
const entrySizes = compile(({ db }, params: Params<ContextId & { readonly before: number; readonly limit: number }>) =>
  db
    .selectFrom("trivium_contexts as c")
    .innerJoin("trivium_conversations as e", "e.context", "c.key")
    .select(["e.context", "e.number", "e.bytes"])
    .where(inScope("c", params))
    .where("c.context_id", "=", params.contextId)
    .where(sql<SqlBool>`e.number > c.hidden and e.number > c.last - c.max_entries`)
    .where("e.number", "<", params.before)
    .orderBy("e.number", "desc")
    .limit(sql<number>`${params.limit}`),
);

const selectEntries = compile(
  ({ db }, { context, from, to }: Params<{ readonly context: number; readonly from: number; readonly to: number }>) =>
    db
      .selectFrom("trivium_conversations as e")
      .selectAll("e")
      .where("e.context", "=", context)
      .where("e.number", ">=", from)
      .where("e.number", "<=", to)
      .orderBy("e.number"),
);

function entryFrom(row: Selectable<ConversationsTable>): StoredConversationRow {
  const { number, kind, at, bytes, format, payload } = row;
  const content = payload === null ? undefined : { format, bytes: payload };
  return { number, kind, at, bytes, id: row.item_id, taskId: row.task_id, payload: content };
}

function deleteConversation(context: DbContext, id: ContextId): Promise<boolean> {
  return inTransaction(context, async (within) => {
    const row = await lockedContext.first(within, id);
    if (row === undefined) return false;
    await dropEntries.write(within, row);
    await deleteContext(within, row.key);
    return row.expires_at !== 0;
  });
}

const lockedContext = compile(({ db, dialect }, params: Params<ContextId>) =>
  db
    .selectFrom("trivium_contexts as c")
    .select(["c.key", "c.value_bytes", "c.expires_at"])
    .where(inScope("c", params))
    .where("c.context_id", "=", params.contextId)
    .$if(dialect.locksRows, (select) => select.forUpdate()),
);

const dropEntries = compile(({ db }, { key }: Params<{ readonly key: number }>) =>
  db.deleteFrom("trivium_conversations").where("context", "=", key),
);

/** Contexts over the bounds are hidden here; the sweep deletes them in batches. */
function boundConversations(context: DbContext, scope: Scope, bounds: ConversationBounds): Promise<ConversationBounds> {
  return inTransaction(context, async (within) => {
    const sum = { entries: 0, bytes: 0 };
    const over: number[] = [];
    for (const { key, entries, bytes } of await selectContexts.all(within, scope)) {
      const isFirst = sum.entries === 0 && sum.bytes === 0;
      const fits = sum.entries + entries <= bounds.entries && sum.bytes + bytes <= bounds.bytes;
      if (over.length === 0 && (isFirst || fits)) {
        sum.entries += entries;
        sum.bytes += bytes;
      } else over.push(key);
    }
    if (over.length > 0) await hideContexts(within, over);
    return sum;
  });
}

const selectContexts = compile(({ db, dialect }, scope: Params<Scope>) =>
  db
    .selectFrom("trivium_contexts as c")
    .select([
      "c.key",
      sql<number>`c.last - case when c.hidden > c.last - c.max_entries then c.hidden else c.last - c.max_entries end`.as(
        "entries",
      ),
      sql<number>`c.bytes + c.value_bytes`.as("bytes"),
    ])
    .where(inScope("c", scope))
    .where(sql<SqlBool>`coalesce(c.expires_at, 1) <> 0`)
    .orderBy("c.used_at", "desc")
    .orderBy("c.key", "desc")
    // One that is written to just now is in use.
    .$if(dialect.locksRows, (select) => select.forUpdate().skipLocked()),
);

async function hideContexts({ db, dialect }: DbContext, keys: readonly number[]): Promise<void> {
  await db.deleteFrom("trivium_context_values").where(dialect.isOneOf("context", keys)).execute();
  await db
    .updateTable("trivium_contexts")
    .set((set) => ({ hidden: set.ref("last"), expires_at: 0, value_bytes: 0 }))
    .where(dialect.isOneOf("key", keys))
    .execute();
}

interface ValueId extends ContextId {
  readonly name: string;
}

const valueByName = compile(({ db }, params: Params<ValueId>) =>
  db
    .selectFrom("trivium_contexts as c")
    .innerJoin("trivium_context_values as v", "v.context", "c.key")
    .select(["v.version", "v.json"])
    .where(inScope("c", params))
    .where("c.context_id", "=", params.contextId)
    .where("v.name", "=", params.name),
);

function writeValue(context: DbContext, id: ContextId, write: ContextValueWrite): Promise<ContextValueResult> {
  const { name, value, replaces, usedAt, expiresAt = null, maxBytes } = write;
  return inTransaction(context, async (within) => {
    if ((await valueByName.first(within, { ...id, name }))?.version !== replaces) return "moved";
    await useContext.write(within, { ...id, usedAt, expiresAt });
    const row = await lockedContext.first(within, id);
    if (row === undefined) throw new Error("a context that was just written is gone");
    const { key } = row;
    const current = await lockedValue.first(within, { key, name });
    // Another writer was faster, before this one had the lock.
    if (current?.version !== replaces) return "moved";
    const bytes = value === undefined ? 0 : sizeOfContextValue(name, value);
    const total = row.value_bytes - (current?.bytes ?? 0) + bytes;
    if (value !== undefined && total > maxBytes) return "full";
    await dropValue.write(within, { key, name });
    if (value !== undefined) await insertValue.write(within, { key, name, bytes, ...value });
    await sumValues.write(within, { key, total });
    return "stored";
  });
}

interface UsedContext extends ContextId {
  readonly usedAt: number;
  readonly expiresAt: number | null;
}

const useContext = compile(({ db }, params: Params<UsedContext>) => {
  const { agent, tenant, owner, contextId, usedAt, expiresAt } = params;
  const empty = { last: 0, dropped: 0, hidden: 0, bytes: 0, value_bytes: 0, max_entries: 0 };
  return db
    .insertInto("trivium_contexts")
    .values({ agent, tenant, owner, context_id: contextId, ...empty, used_at: usedAt, expires_at: expiresAt })
    .onConflict((conflict) =>
      conflict.columns(["agent", "tenant", "owner", "context_id"]).doUpdateSet((set) => ({
        used_at: set.ref("excluded.used_at"),
        expires_at: set.ref("excluded.expires_at"),
      })),
    );
});

interface NamedValue {
  readonly key: number;
  readonly name: string;
}

const lockedValue = compile(({ db }, { key, name }: Params<NamedValue>) =>
  db
    .selectFrom("trivium_context_values")
    .select(["version", "bytes"])
    .where("context", "=", key)
    .where("name", "=", name),
);

const dropValue = compile(({ db }, { key, name }: Params<NamedValue>) =>
  db.deleteFrom("trivium_context_values").where("context", "=", key).where("name", "=", name),
);

const insertValue = compile(({ db }, params: Params<NamedValue & ContextValue & { readonly bytes: number }>) => {
  const { key, name, version, bytes, json } = params;
  return db.insertInto("trivium_context_values").values({ context: key, name, version, bytes, json });
});

const sumValues = compile(({ db }, { key, total }: Params<{ readonly key: number; readonly total: number }>) =>
  db.updateTable("trivium_contexts").set({ value_bytes: total }).where("key", "=", key),
);
