import type { PutFence, PutResult, TaskInbox } from "../../../core/ports.js";
import { isTerminal } from "../../../protocol/states.js";
import { compile, type Params } from "../compile.js";
import { type DbContext, inTransaction } from "../dialect.js";
import type { Backend, InboxRow } from "../rows.js";

export function inboxQueries(context: DbContext): Pick<Backend, keyof TaskInbox> {
  return {
    put: (key, entry, maxMessages, fence) => putEntry(context, { key, entry, maxMessages, fence }),
    inbox: (key) => readInbox(context, key),
    withdraw: (key, entryId) => withdrawEntry(context, key, entryId),
  };
}

interface Put {
  readonly key: number;
  readonly entry: InboxRow;
  readonly maxMessages: number;
  readonly fence: PutFence | undefined;
}

function putEntry(context: DbContext, put: Put): Promise<PutResult> {
  return inTransaction(context, async (within) => {
    const { key, entry, fence } = put;
    const head = await lockedHead.first(within, { key });
    // Only finished tasks are dropped, so a missing one has ended.
    if (head === undefined || isTerminal(head.state)) return "ended";
    const { inbox_put: inboxPut, epoch, holder } = head;
    if (fence !== undefined && (fence.epoch !== epoch || fence.inboxPut !== inboxPut)) return "moved";
    if (holder === "") return "idle";
    const status = await statusFor(within, put);
    if (status !== "new") return status;
    const { id, kind, format, bytes } = entry;
    await insertEntry.write(within, { key, ordinal: inboxPut + 1, id, kind, format, bytes });
    await countEntry.write(within, { key, ordinal: inboxPut + 1 });
    return "stored";
  });
}

interface NumberedEntry {
  readonly key: number;
  readonly ordinal: number;
}

const insertEntry = compile(({ db }, params: Params<NumberedEntry & InboxRow>) => {
  const { key, ordinal, id, kind, format, bytes } = params;
  return db.insertInto("trivium_inbox").values({ key, ordinal, id, kind, format, payload: bytes });
});

const countEntry = compile(({ db }, { key, ordinal }: Params<NumberedEntry>) =>
  db.updateTable("trivium_tasks").set({ inbox_put: ordinal }).where("key", "=", key),
);

/** `new`: the entry has an effect and there is room. `stored`: it has no effect. */
async function statusFor(context: DbContext, { key, entry, maxMessages }: Put): Promise<"new" | "stored" | "full"> {
  const entries = await selectEntries.all(context, { key });
  if (entries.some(({ id }) => id === entry.id)) return "stored";
  const alike = entries.filter(({ kind }) => kind === entry.kind).length;
  if (entry.kind === "message") return alike < maxMessages ? "new" : "full";
  return alike === 0 ? "new" : "stored";
}

interface Key {
  readonly key: number;
}

const selectEntries = compile(({ db }, { key }: Params<Key>) =>
  db.selectFrom("trivium_inbox").select(["id", "kind"]).where("key", "=", key),
);

async function readInbox(
  context: DbContext,
  key: number,
): Promise<{ readonly entries: readonly InboxRow[]; readonly inboxPut: number }> {
  const rows = await selectInbox.all(context, { key });
  const entries = rows.flatMap(({ id, kind, format, payload }) =>
    id === null || kind === null || format === null || payload === null ? [] : { id, kind, format, bytes: payload },
  );
  return { entries, inboxPut: rows[0]?.inbox_put ?? 0 };
}

const selectInbox = compile(({ db }, { key }: Params<Key>) =>
  db
    .selectFrom("trivium_tasks as t")
    .leftJoin("trivium_inbox as e", "e.key", "t.key")
    .select(["t.inbox_put", "e.id", "e.kind", "e.format", "e.payload"])
    .where("t.key", "=", key)
    .orderBy((order) => order.case().when("e.kind", "=", "cancel").then(order.lit(0)).else(order.lit(1)).end())
    .orderBy("e.ordinal"),
);

/** Locks the head, so that a concurrent write either takes the entry or does not see it. */
function withdrawEntry(context: DbContext, key: number, entryId: string): Promise<boolean> {
  return inTransaction(context, async (within) => {
    if ((await lockedHead.first(within, { key })) === undefined) return false;
    return (await deleteEntry.write(within, { key, id: entryId })) > 0;
  });
}

const deleteEntry = compile(({ db }, { key, id }: Params<Key & { readonly id: string }>) =>
  db.deleteFrom("trivium_inbox").where("key", "=", key).where("id", "=", id),
);

const lockedHead = compile(({ db, dialect }, { key }: Params<Key>) =>
  db
    .selectFrom("trivium_tasks")
    .select(["epoch", "holder", "state", "inbox_put"])
    .where("key", "=", key)
    .$if(dialect.locksRows, (select) => select.forUpdate()),
);
