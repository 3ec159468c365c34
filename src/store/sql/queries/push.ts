import type { Selectable } from "kysely";
import { compiled, type Params } from "../compiled.js";
import { type DbContext, inTransaction } from "../dialect.js";
import { type PushBackend, type PushRow, scopeOf, settledHolder } from "../rows.js";
import type { PushConfigsTable } from "../schema.js";
import { expiredIn } from "./instances.js";

export function pushQueries(context: DbContext): PushBackend {
  return {
    set: (row, max) => setConfig(context, row, max),
    get: (key, id) => readConfig(context, key, id),
    list: (key) => listConfigs(context, key),
    delete: (key, id) => deleteConfig(context, key, id),
    advance: (key, id, cursor) => advanceConfig(context, { key, id, cursor }),
    settle: (key, id, end) => settleConfig(context, { key, id, ...end }),
    adopt: (agent, instance, limit) => adoptConfigs(context, { agent, instance, limit }),
    release: (agent, instance) => releaseConfigs(context, { agent, instance }),
  };
}

function setConfig(context: DbContext, row: PushRow, max: number): Promise<"stored" | "full"> {
  return inTransaction(context, async (within) => {
    const { key } = row;
    // Others that add to the task's configurations wait for the end of the transaction.
    if (within.dialect.locksRows) await lockTask.all(within, { key });
    const others = await ordinalsOf.all(within, { key });
    const known = others.find(({ id }) => id === row.id);
    if (known === undefined && others.length >= max) return "full";
    const ordinal = known?.ordinal ?? Math.max(0, ...others.map((other) => other.ordinal)) + 1;
    await putConfig.write(within, valuesOf(row, ordinal));
    return "stored";
  });
}

interface Key {
  readonly key: number;
}

interface ConfigId extends Key {
  readonly id: string;
}

const lockTask = compiled(({ db }, { key }: Params<Key>) =>
  db.selectFrom("trivium_tasks").select("key").where("key", "=", key).forUpdate(),
);

const ordinalsOf = compiled(({ db }, { key }: Params<Key>) =>
  db.selectFrom("trivium_push_configs").select(["id", "ordinal"]).where("key", "=", key),
);

const putConfig = compiled(({ db }, params: Params<Selectable<PushConfigsTable>>) => {
  const { key, id, ordinal, task_id, agent, tenant, owner, version, task_name, cursor, holder, format, payload } =
    params;
  const context = { key, id, ordinal, task_id, agent, tenant, owner, version, task_name };
  const values = { ...context, cursor, holder, format, payload };
  return db
    .insertInto("trivium_push_configs")
    .values(values)
    .onConflict((conflict) => conflict.columns(["key", "id"]).doUpdateSet(values));
});

async function readConfig(context: DbContext, key: number, id: string): Promise<PushRow | undefined> {
  const row = await configById.first(context, { key, id });
  return row === undefined ? undefined : rowFrom(row);
}

const configById = compiled(({ db }, { key, id }: Params<ConfigId>) =>
  db.selectFrom("trivium_push_configs").selectAll().where("key", "=", key).where("id", "=", id),
);

async function listConfigs(context: DbContext, key: number): Promise<readonly PushRow[]> {
  return (await configsOf.all(context, { key })).map(rowFrom);
}

const configsOf = compiled(({ db }, { key }: Params<Key>) =>
  db.selectFrom("trivium_push_configs").selectAll().where("key", "=", key).orderBy("ordinal"),
);

async function deleteConfig(context: DbContext, key: number, id: string): Promise<void> {
  await dropConfig.write(context, { key, id });
}

const dropConfig = compiled(({ db }, { key, id }: Params<ConfigId>) =>
  db.deleteFrom("trivium_push_configs").where("key", "=", key).where("id", "=", id),
);

async function advanceConfig(context: DbContext, position: Position): Promise<void> {
  await moveCursor.write(context, position);
}

interface Position extends ConfigId {
  readonly cursor: number;
}

const moveCursor = compiled(({ db }, { key, id, cursor }: Params<Position>) =>
  db
    .updateTable("trivium_push_configs")
    .set({ cursor })
    .where("key", "=", key)
    .where("id", "=", id)
    .where("cursor", "<", cursor),
);

async function settleConfig(context: DbContext, settled: SettledDelivery): Promise<void> {
  await settleHeld.write(context, settled);
}

interface SettledDelivery extends Position, Holder {}

interface Holder {
  readonly holder: string;
}

const settleHeld = compiled(({ db }, { key, id, cursor, holder }: Params<SettledDelivery>) =>
  db
    .updateTable("trivium_push_configs")
    .set({ cursor, holder: settledHolder })
    .where("key", "=", key)
    .where("id", "=", id)
    .where("holder", "=", holder),
);

const expiredHolders = expiredIn("trivium_push_configs");

/**
 * Configurations of one holder, of the agent's tasks with records after their cursor. The task is read by a subquery,
 * since with a join the planner might read all tasks.
 */
export const adoptable = compiled((context, { agent, limit, holder }: Params<Omit<Adoption, "instance"> & Holder>) => {
  const { db, dialect } = context;
  return db
    .selectFrom("trivium_push_configs as p")
    .select(["p.key", "p.id"])
    .where("p.agent", "=", agent)
    .where("p.holder", "=", holder)
    .where("p.cursor", "<", (where) =>
      where.selectFrom("trivium_tasks as t").select("t.seq").whereRef("t.key", "=", "p.key"),
    )
    .limit(limit)
    .$if(dialect.locksRows, (select) => select.forUpdate("p").skipLocked());
});

interface HolderOfAgent extends HolderName {
  readonly agent: string;
}

interface Adoption extends HolderOfAgent {
  readonly limit: number;
}

/** Adopts configurations without a live holder. */
function adoptConfigs(context: DbContext, { agent, instance, limit }: Adoption): Promise<readonly PushRow[]> {
  return inTransaction(context, async (within) => {
    const expired = (await expiredHolders.all(within, {})).map(({ name }) => name);
    const adopted: PushRow[] = [];
    for (const holder of ["", ...expired]) {
      if (holder === settledHolder) continue;
      for (const { key, id } of await adoptable.all(within, { agent, limit: limit - adopted.length, holder })) {
        const row = await holdConfig.first(within, { key, id, instance });
        if (row !== undefined) adopted.push(rowFrom(row));
      }
    }
    return adopted;
  });
}

interface HolderName {
  readonly instance: string;
}

const holdConfig = compiled(({ db }, { key, id, instance }: Params<ConfigId & HolderName>) =>
  db
    .updateTable("trivium_push_configs")
    .set({ holder: instance })
    .where("key", "=", key)
    .where("id", "=", id)
    .returningAll(),
);

async function releaseConfigs(context: DbContext, held: HolderOfAgent): Promise<void> {
  await freeConfigs.write(context, held);
}

const freeConfigs = compiled(({ db }, { agent, instance }: Params<HolderOfAgent>) =>
  db.updateTable("trivium_push_configs").set({ holder: "" }).where("agent", "=", agent).where("holder", "=", instance),
);

function valuesOf(row: PushRow, ordinal: number): Selectable<PushConfigsTable> {
  const { key, id, taskId, scope, version, taskName, cursor, holder, format, bytes } = row;
  const context = { key, id, ordinal, task_id: taskId, version, task_name: taskName ?? null };
  return { ...scopeOf(scope), ...context, cursor, holder, format, payload: bytes };
}

function rowFrom(row: Selectable<PushConfigsTable>): PushRow {
  return {
    key: row.key,
    id: row.id,
    taskId: row.task_id,
    scope: scopeOf(row),
    cursor: row.cursor,
    version: row.version,
    taskName: row.task_name ?? undefined,
    holder: row.holder,
    format: row.format,
    bytes: row.payload,
  };
}
