import { type Kysely, type SqlBool, sql } from "kysely";
import type { SqlDialect } from "./dialect.js";
import { agentsInScopes } from "./migrations/agents.js";
import { conversationTables } from "./migrations/conversations.js";
import { rateTable } from "./migrations/rates.js";
import type { Database } from "./schema.js";
import {
  countsTable,
  createClusteredTable,
  createTable,
  periodsIndex,
  periodsTable,
  type SchemaStatement,
  sendsIndex,
  sendsTable,
  type Table,
  toStatement,
  withPayload,
  withText,
} from "./schema-statements.js";

/** One step of the schema. Never changed after its release. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** The statements in order, to execute or to print. */
  statements(db: Kysely<Database>, dialect: SqlDialect): readonly SchemaStatement[];
}

/** All steps in order. The number of the last is the schema of this release. */
export const migrations: readonly Migration[] = [
  { version: 1, name: "tasks and their tables", statements: (db, dialect) => firstTables(db, dialect) },
  { version: 2, name: "counters by time", statements: (db, dialect) => countersByTime(db, dialect) },
  { version: 3, name: "agents in scopes", statements: (db, dialect) => agentsInScopes(db, dialect) },
  { version: 4, name: "waiting tasks", statements: (db, dialect) => waitingTasks(db, dialect) },
  { version: 5, name: "conversations", statements: (db, dialect) => conversationTables(db, dialect) },
  { version: 6, name: "limits of callers", statements: (db, dialect) => rateTable(db, dialect) },
];

const tenantAndOwner = ["tenant", "owner"] as const;

/** The table that records which steps were applied. */
export function schemaTable(db: Kysely<Database>, dialect: SqlDialect): SchemaStatement {
  const { integer } = dialect.types;
  return createTable(db, dialect, "schema")
    .ifNotExists()
    .addColumn("version", integer, (column) => column.primaryKey().notNull())
    .addColumn("applied_at", integer, (column) => column.notNull());
}

function firstTables(db: Kysely<Database>, dialect: SqlDialect): readonly SchemaStatement[] {
  return [
    tasks(db, dialect),
    ...taskIndexes(db),
    snapshots(db, dialect),
    log(db, dialect),
    inbox(db, dialect),
    instances(db, dialect),
    sendsTable(db, dialect, tenantAndOwner),
    sendsIndex(db),
    ...pushConfigs(db, dialect),
    countsTable(db, dialect, tenantAndOwner),
  ];
}

function tasks(db: Kysely<Database>, dialect: SqlDialect): SchemaStatement {
  const { integer, serial } = dialect.types;
  const numbers = ["seq", "epoch", "state", "status_time", "inbox_put", "turn", "turn_seq", "compacted"];
  const times = ["wake_at", "finished_at", "logged_at"];
  const key = createTable(db, dialect, "tasks").addColumn("key", sql.raw(serial));
  const texts = withText(key, "id", "tenant", "owner", "context_id", "incarnation", "version", "holder");
  const counters = numbers.reduce<Table>(
    (table, name) => table.addColumn(name, integer, (column) => column.notNull().defaultTo(0)),
    texts.addColumn("name", "text"),
  );
  return times.reduce<Table>((table, name) => table.addColumn(name, integer), counters);
}

// Lists of tasks are read from the end of the index, where the newest task is added.
function taskIndexes(db: Kysely<Database>): readonly SchemaStatement[] {
  const index = (name: string) => db.schema.createIndex(`trivium_tasks_${name}`).on("trivium_tasks");
  return [
    index("id").unique().column("id"),
    index("name").unique().columns(["tenant", "owner", "name"]).where(sql.ref("name"), "is not", null),
    index("time").columns(["tenant", "owner", "status_time", "key"]),
    index("state").columns(["tenant", "owner", "state", "status_time", "key"]),
    index("context").columns(["tenant", "owner", "context_id", "status_time", "key", "state"]),
    index("holder").column("holder").where(sql.ref("holder"), "<>", sql.lit("")),
    index("wake").column("wake_at").where(sql.ref("wake_at"), "is not", null),
    index("finished").column("finished_at").where(sql.ref("finished_at"), "is not", null),
    index("logged").column("logged_at").where(sql.ref("logged_at"), "is not", null),
  ];
}

function snapshots(db: Kysely<Database>, dialect: SqlDialect): SchemaStatement {
  const { integer } = dialect.types;
  const table = createTable(db, dialect, "snapshots")
    .addColumn("key", integer, (column) => column.primaryKey().notNull())
    .addColumn("seq", integer, (column) => column.notNull());
  return withPayload(table, dialect);
}

function log(db: Kysely<Database>, dialect: SqlDialect): SchemaStatement {
  const { integer } = dialect.types;
  const table = createClusteredTable(db, dialect, "log")
    .addColumn("key", integer, (column) => column.notNull())
    .addColumn("seq", integer, (column) => column.notNull())
    .addColumn("count", integer, (column) => column.notNull());
  return withPayload(table, dialect).addPrimaryKeyConstraint("trivium_log_key", ["key", "seq"]);
}

function inbox(db: Kysely<Database>, dialect: SqlDialect): SchemaStatement {
  const { integer } = dialect.types;
  const table = createClusteredTable(db, dialect, "inbox")
    .addColumn("key", integer, (column) => column.notNull())
    .addColumn("ordinal", integer, (column) => column.notNull());
  const texts = withText(table, "id", "kind");
  return withPayload(texts, dialect).addPrimaryKeyConstraint("trivium_inbox_key", ["key", "ordinal"]);
}

function instances(db: Kysely<Database>, dialect: SqlDialect): SchemaStatement {
  return createTable(db, dialect, "instances")
    .addColumn("name", "text", (column) => column.primaryKey().notNull())
    .addColumn("expires_at", dialect.types.integer, (column) => column.notNull());
}

function pushConfigs(db: Kysely<Database>, dialect: SqlDialect): readonly SchemaStatement[] {
  const { integer } = dialect.types;
  const table = createTable(db, dialect, "push_configs")
    .addColumn("key", integer, (column) => column.notNull())
    .addColumn("ordinal", integer, (column) => column.notNull())
    .addColumn("cursor", integer, (column) => column.notNull())
    .addColumn("task_name", "text");
  const texts = withText(table, "id", "task_id", "tenant", "owner", "version", "holder");
  return [
    withPayload(texts, dialect).addPrimaryKeyConstraint("trivium_push_configs_key", ["key", "id"]),
    db.schema.createIndex("trivium_push_configs_holder").on("trivium_push_configs").column("holder"),
  ];
}

/** Counters of existing tasks are filled along with the table. */
function countersByTime(db: Kysely<Database>, dialect: SqlDialect): readonly SchemaStatement[] {
  const fill = sql`insert into "trivium_periods" ("tenant", "owner", "period", "state", "shard", "count")
select "tenant", "owner", "status_time" / 600000, "state", '', count(*) from "trivium_tasks" group by 1, 2, 3, 4`;
  return [periodsTable(db, dialect, tenantAndOwner), periodsIndex(db, dialect), toStatement(db, fill)];
}

/**
 * An index of the tasks that wait for their callers; a column that shows which instances renewed before the clock was
 * set back, unknown for those of earlier releases; and summaries of tasks, for lists.
 */
function waitingTasks(db: Kysely<Database>, { types }: SqlDialect): readonly SchemaStatement[] {
  const condition = sql<SqlBool>`"holder" = '' and "finished_at" is null and "wake_at" is null`;
  return [
    db.schema
      .createIndex("trivium_tasks_waiting")
      .on("trivium_tasks")
      .columns(["agent", "status_time", "key"])
      .where(condition),
    db.schema.alterTable("trivium_instances").addColumn("ttl_ms", types.integer),
    db.schema.alterTable("trivium_tasks").addColumn("summary", types.bytes),
    db.schema.alterTable("trivium_tasks").addColumn("summary_time", types.integer),
  ];
}
