import { type Kysely, sql } from "kysely";
import type { SqlDialect } from "./dialect.js";
import type { Database } from "./schema.js";
import {
  countsTable,
  periodsIndex,
  periodsTable,
  type SchemaStatement,
  sendsIndex,
  sendsTable,
  statementOf,
  type TableName,
} from "./schema-statements.js";

const owned = ["agent", "tenant", "owner"] as const;

/**
 * Several agents share a database: what is there already belongs to the one without a name. Both databases add a column
 * without writing the rows again, so on a large table only its indexes take time: they name the agent from now on, so that
 * a list or a sweep of one agent does not walk the tasks of the others.
 */
export function agentsInScopes(db: Kysely<Database>, dialect: SqlDialect): readonly SchemaStatement[] {
  return [
    withAgent(db, "tasks"),
    ...taskIndexes(db),
    withAgent(db, "push_configs"),
    db.schema.dropIndex("trivium_push_configs_holder"),
    db.schema.createIndex("trivium_push_configs_holder").on("trivium_push_configs").columns(["holder", "agent"]),
    ...(dialect.name === "sqlite" ? keyedAnew(db, dialect) : keyedInPlace(db)),
  ];
}

function withAgent(db: Kysely<Database>, name: TableName): SchemaStatement {
  return db.schema
    .alterTable(`trivium_${name}`)
    .addColumn("agent", "text", (column) => column.notNull().defaultTo(sql.lit("")));
}

// The lists of tasks are walked from the end: a new task, which is the newest, is added there.
function taskIndexes(db: Kysely<Database>): readonly SchemaStatement[] {
  const index = (name: string) => db.schema.createIndex(`trivium_tasks_${name}`).on("trivium_tasks");
  const names = ["name", "time", "state", "context", "holder", "wake"];
  return [
    ...names.map((name) => db.schema.dropIndex(`trivium_tasks_${name}`)),
    index("name")
      .unique()
      .columns([...owned, "name"])
      .where(sql.ref("name"), "is not", null),
    index("time").columns([...owned, "status_time", "key"]),
    index("state").columns([...owned, "state", "status_time", "key"]),
    index("context").columns([...owned, "context_id", "status_time", "key", "state"]),
    index("holder").columns(["holder", "agent"]).where(sql.ref("holder"), "<>", sql.lit("")),
    index("wake").columns(["agent", "wake_at"]).where(sql.ref("wake_at"), "is not", null),
  ];
}

/** Tables whose primary key begins with the scope, and what follows it there. */
const keys = {
  sends: ["message_id"],
  counts: ["state", "shard"],
  periods: ["period", "state", "shard"],
} as const satisfies Partial<Record<TableName, readonly string[]>>;

const rekeyed = ["sends", "counts", "periods"] as const;

function keyedInPlace(db: Kysely<Database>): readonly SchemaStatement[] {
  return rekeyed.flatMap((name) => {
    const table = () => db.schema.alterTable(`trivium_${name}`);
    return [
      withAgent(db, name),
      table().dropConstraint(`trivium_${name}_key`),
      table().addPrimaryKeyConstraint(`trivium_${name}_key`, [...owned, ...keys[name]]),
    ];
  });
}

/** SQLite does not change the primary key of a table: these are small beside the tasks, and are copied. */
function keyedAnew(db: Kysely<Database>, dialect: SqlDialect): readonly SchemaStatement[] {
  const made = {
    sends: [sendsTable(db, dialect, owned), sendsIndex(db)],
    counts: [countsTable(db, dialect, owned)],
    periods: [periodsTable(db, dialect, owned), periodsIndex(db, dialect)],
  };
  return rekeyed.flatMap((name) => {
    const [table, ...indexes] = made[name];
    const copied = sql`insert into ${sql.table(`trivium_${name}`)} select '', * from ${sql.table(`trivium_${name}_before`)}`;
    return [
      db.schema.alterTable(`trivium_${name}`).renameTo(`trivium_${name}_before`),
      ...(table === undefined ? [] : [table]),
      statementOf(db, copied),
      db.schema.dropTable(`trivium_${name}_before`),
      ...indexes,
    ];
  });
}
