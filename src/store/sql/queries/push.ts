import type { Selectable } from "kysely";
import { compile, type Params } from "../compile.js";
import { type DbContext, inTransaction } from "../dialect.js";
import { type PushBackend, type PushRow, pickScope, settledHolder } from "../rows.js";
import type { PushConfigsTable } from "../schema.js";
import { expiredIn } from "./instances.js";

export function pushQueries(context: DbContext): PushBackend {
  return {
    set: (row, max) => setConfig(context, row, max),
    async get(key, id) {
      const row = await configById.first(context, { key, id });
      return row === undefined ? undefined : rowFrom(row);
    },
    list: async (key) => (await selectConfigs.all(context, { key })).map(rowFrom),
    async delete(key, id) {
      await dropConfig.write(context, { key, id });
    },
    async advance(key, id, cursor) {
      await moveCursor.write(context, { key, id, cursor });
    },
    async settle(key, id, end) {
      await settleHeld.write(context, { key, id, ...end });
    },
    adopt: (agent, instance, limit) => adoptConfigs(context, { agent, instance, limit }),
    async release(agent, instance) {
      await freeConfigs.write(context, { agent, instance });
    },
  };
}

function setConfig(context: DbContext, row: PushRow, max: number): Promise<"stored" | "full"> {
  return inTransaction(context, async (within) => {
    const { key } = row;
    // Others that add to the task's configurations wait for the end of the transaction.
    if (within.dialect.locksRows) await lockTask.all(within, { key });
    const others = await selectOrdinals.all(within, { key });
    const existing = others.find(({ id }) => id === row.id);
    if (existing === undefined && others.length >= max) return "full";
    const ordinal = existing?.ordinal ?? Math.max(0, ...others.map((other) => other.ordinal)) + 1;
    await putConfig.write(within, toColumns(row, ordinal));
    return "stored";
  });
}

interface Key {
  readonly key: number;
}

interface ConfigId extends Key {
  readonly id: string;
}

const lockTask = compile(({ db }, { key }: Params<Key>) =>
  db.selectFrom("trivium_tasks").select("key").where("key", "=", key).forUpdate(),
);

const selectOrdinals = compile(({ db }, { key }: Params<Key>) =>
  db.selectFrom("trivium_push_configs").select(["id", "ordinal"]).where("key", "=", key),
);

const putConfig = compile(({ db }, params: Params<Selectable<PushConfigsTable>>) => {
  const { key, id, ordinal, task_id, agent, tenant, owner, version, task_name, cursor, holder, format, payload } =
    params;
  const keyColumns = { key, id, ordinal, task_id, agent, tenant, owner, version, task_name };
  const values = { ...keyColumns, cursor, holder, format, payload };
  return db
    .insertInto("trivium_push_configs")
    .values(values)
    .onConflict((conflict) => conflict.columns(["key", "id"]).doUpdateSet(values));
});

const configById = compile(({ db }, { key, id }: Params<ConfigId>) =>
  db.selectFrom("trivium_push_configs").selectAll().where("key", "=", key).where("id", "=", id),
);

const selectConfigs = compile(({ db }, { key }: Params<Key>) =>
  db.selectFrom("trivium_push_configs").selectAll().where("key", "=", key).orderBy("ordinal"),
);

const dropConfig = compile(({ db }, { key, id }: Params<ConfigId>) =>
  db.deleteFrom("trivium_push_configs").where("key", "=", key).where("id", "=", id),
);

interface Position extends ConfigId {
  readonly cursor: number;
}

const moveCursor = compile(({ db }, { key, id, cursor }: Params<Position>) =>
  db
    .updateTable("trivium_push_configs")
    .set({ cursor })
    .where("key", "=", key)
    .where("id", "=", id)
    .where("cursor", "<", cursor),
);

interface SettledDelivery extends Position, Holder {}

interface Holder {
  readonly holder: string;
}

const settleHeld = compile(({ db }, { key, id, cursor, holder }: Params<SettledDelivery>) =>
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
export const adoptable = compile((context, { agent, limit, holder }: Params<Omit<Adoption, "instance"> & Holder>) => {
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

const holdConfig = compile(({ db }, { key, id, instance }: Params<ConfigId & HolderName>) =>
  db
    .updateTable("trivium_push_configs")
    .set({ holder: instance })
    .where("key", "=", key)
    .where("id", "=", id)
    .returningAll(),
);

const freeConfigs = compile(({ db }, { agent, instance }: Params<HolderOfAgent>) =>
  db.updateTable("trivium_push_configs").set({ holder: "" }).where("agent", "=", agent).where("holder", "=", instance),
);

function toColumns(row: PushRow, ordinal: number): Selectable<PushConfigsTable> {
  const { key, id, taskId, scope, version, taskName, cursor, holder, format, bytes } = row;
  const keyColumns = { key, id, ordinal, task_id: taskId, version, task_name: taskName ?? null };
  return { ...pickScope(scope), ...keyColumns, cursor, holder, format, payload: bytes };
}

function rowFrom(row: Selectable<PushConfigsTable>): PushRow {
  return {
    key: row.key,
    id: row.id,
    taskId: row.task_id,
    scope: pickScope(row),
    cursor: row.cursor,
    version: row.version,
    taskName: row.task_name ?? undefined,
    holder: row.holder,
    format: row.format,
    bytes: row.payload,
  };
}
