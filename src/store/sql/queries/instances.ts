import { type SqlBool, sql } from "kysely";
import type { DueCursor, Head } from "../../../core/ports.js";
import { compiled, type Params } from "../compiled.js";
import type { DbContext } from "../dialect.js";
import { headFrom, selectHeads } from "../head-row.js";

/** Instances that are over for so long are not kept. One that is not there counts as expired. */
const keptMs = 3_600_000;

/** Rejects when the database cannot be written. Changes nothing. */
export async function checkWritable({ db }: DbContext): Promise<void> {
  await db.deleteFrom("trivium_instances").where("name", "=", "").execute();
}

export async function renewInstance(context: DbContext, name: string, ttlMs: number): Promise<void> {
  await putInstance.write(context, { name, ttlMs });
  await dropInstances.write(context, {});
}

const putInstance = compiled(
  ({ db, dialect }, { name, ttlMs }: Params<{ readonly name: string; readonly ttlMs: number }>) =>
    db
      .insertInto("trivium_instances")
      .values({ name, expires_at: sql<number>`${dialect.now()} + ${ttlMs}` })
      .onConflict((conflict) =>
        conflict.column("name").doUpdateSet((set) => ({ expires_at: set.ref("excluded.expires_at") })),
      ),
);

const dropInstances = compiled(({ db, dialect }) =>
  db.deleteFrom("trivium_instances").where("expires_at", "<", sql<number>`${dialect.now()} - ${keptMs}`),
);

export async function retireInstance(context: DbContext, name: string): Promise<void> {
  await deleteInstance.write(context, { name });
}

const deleteInstance = compiled(({ db }, { name }: Params<{ readonly name: string }>) =>
  db.deleteFrom("trivium_instances").where("name", "=", name),
);

interface Sweep {
  readonly agent: string;
  readonly limit: number;
}

/** Tasks of an agent whose holder does not live. Each holder is looked at once, however many tasks it has. */
export const orphaned = compiled((context, { agent, limit, after }: Params<Sweep & { readonly after: number }>) =>
  selectHeads(context)
    .innerJoin(holders("trivium_tasks").as("h"), "h.name", "t.holder")
    .where("t.agent", "=", agent)
    .where("t.holder", "<>", sql.lit(""))
    .where(isOver(context, "h.name"))
    .where("t.key", ">", after)
    .orderBy("t.key")
    .limit(limit),
);

export async function orphans(
  context: DbContext,
  { agent, limit, after = 0 }: Sweep & { readonly after?: number | undefined },
): Promise<readonly Head[]> {
  return (await orphaned.all(context, { agent, limit, after })).map(headFrom);
}

/** Parked tasks of an agent whose time has come. */
export const due = compiled((context, { agent, limit, wakeAt, key }: Params<Sweep & DueCursor>) =>
  selectHeads(context)
    .where("t.agent", "=", agent)
    .where("t.wake_at", "is not", null)
    .where("t.wake_at", "<=", context.dialect.now())
    .where(sql<SqlBool>`(t.wake_at, t.key) > (${wakeAt}, ${key})`)
    .orderBy("t.wake_at")
    .orderBy("t.key")
    .limit(limit),
);

const first: DueCursor = { wakeAt: Number.MIN_SAFE_INTEGER, key: 0 };

export async function dueTasks(
  context: DbContext,
  { agent, limit, after = first }: Sweep & { readonly after?: DueCursor | undefined },
): Promise<readonly Head[]> {
  const { wakeAt, key } = after;
  return (await due.all(context, { agent, limit, wakeAt, key })).map(headFrom);
}

/**
 * Every holder, whatever its agent, found by going from one to the next in the index. They are few; what each has is then
 * sought by holder and agent.
 */
export function holders(table: "trivium_tasks" | "trivium_push_configs") {
  const next = (after: string) =>
    sql`select min(holder) from ${sql.table(table)} where holder <> '' and holder > ${sql.raw(after)}`;
  return sql<{ name: string }>`(with recursive holders (name) as (${next("''")}
    union all select (${next("holders.name")}) from holders where holders.name is not null)
    select name from holders where name is not null)`;
}

/** Whether an instance has expired, or is unknown. */
export function isOver({ dialect }: DbContext, name: "h.name") {
  return sql<boolean>`not exists (select 1 from trivium_instances as lives
    where lives.name = ${sql.ref(name)} and lives.expires_at > ${dialect.now()})`;
}
