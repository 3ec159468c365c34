import { type Kysely, sql } from "kysely";
import type { SqlDialect } from "../dialect.js";
import type { Database } from "../schema.js";
import {
  countsTable,
  periodsIndex,
  periodsTable,
  type SchemaStatement,
  sendsIndex,
  sendsTable,
  type TableName,
  toStatement,
} from "../schema-statements.js";

const scopeColumns = ["agent", "tenant", "owner"] as const;

/**
 * Lets several agents share a database; existing rows belong to the agent without a name. Both databases add a column
 * without rewriting rows, so on a large table only the indexes take time. They now start with the agent, so that a list
 * or a sweep of one agent does not scan the tasks of others.
 */
export function agentsInScopes(db: Kysely<Database>, dialect: SqlDialect): readonly SchemaStatement[] {
  return [
    withAgent(db, "tasks"),
    ...taskIndexes(db),
    withAgent(db, "push_configs"),
    db.schema.dropIndex("trivium_push_configs_holder"),
    db.schema.createIndex("trivium_push_configs_holder").on("trivium_push_configs").columns(["holder", "agent"]),
    ...(dialect.changesKeys ? rekeyInPlace(db) : rekeyByCopy(db, dialect)),
  ];
}

function withAgent(db: Kysely<Database>, name: TableName): SchemaStatement {
  return db.schema
    .alterTable(`trivium_${name}`)
    .addColumn("agent", "text", (column) => column.notNull().defaultTo(sql.lit("")));
}

// Lists of tasks are read from the end of the index, where the newest task is added.
function taskIndexes(db: Kysely<Database>): readonly SchemaStatement[] {
  const index = (name: string) => db.schema.createIndex(`trivium_tasks_${name}`).on("trivium_tasks");
  const names = ["name", "time", "state", "context", "holder", "wake"];
  return [
    ...names.map((name) => db.schema.dropIndex(`trivium_tasks_${name}`)),
    index("name")
      .unique()
      .columns([...scopeColumns, "name"])
      .where(sql.ref("name"), "is not", null),
    index("time").columns([...scopeColumns, "status_time", "key"]),
    index("state").columns([...scopeColumns, "state", "status_time", "key"]),
    index("context").columns([...scopeColumns, "context_id", "status_time", "key", "state"]),
    index("holder").columns(["holder", "agent"]).where(sql.ref("holder"), "<>", sql.lit("")),
    index("wake").columns(["agent", "wake_at"]).where(sql.ref("wake_at"), "is not", null),
  ];
}

/** Tables whose primary key starts with the scope, and the columns after it. */
const keys = {
  sends: ["message_id"],
  counts: ["state", "shard"],
  periods: ["period", "state", "shard"],
} as const satisfies Partial<Record<TableName, readonly string[]>>;

const keyedTables = ["sends", "counts", "periods"] as const;

function rekeyInPlace(db: Kysely<Database>): readonly SchemaStatement[] {
  return keyedTables.flatMap((name) => {
    const table = () => db.schema.alterTable(`trivium_${name}`);
    return [
      withAgent(db, name),
      table().dropConstraint(`trivium_${name}_key`),
      table().addPrimaryKeyConstraint(`trivium_${name}_key`, [...scopeColumns, ...keys[name]]),
    ];
  });
}

/** Where a primary key cannot be changed, these tables, small beside the tasks, are copied. */
function rekeyByCopy(db: Kysely<Database>, dialect: SqlDialect): readonly SchemaStatement[] {
  const statements = {
    sends: [sendsTable(db, dialect, scopeColumns), sendsIndex(db)],
    counts: [countsTable(db, dialect, scopeColumns)],
    periods: [periodsTable(db, dialect, scopeColumns), periodsIndex(db, dialect)],
  };
  return keyedTables.flatMap((name) => {
    const [table, ...indexes] = statements[name];
    const copy = sql`insert into ${sql.table(`trivium_${name}`)} select '', * from ${sql.table(`trivium_${name}_before`)}`;
    return [
      db.schema.alterTable(`trivium_${name}`).renameTo(`trivium_${name}_before`),
      ...(table === undefined ? [] : [table]),
      toStatement(db, copy),
      db.schema.dropTable(`trivium_${name}_before`),
      ...indexes,
    ];
  });
}
