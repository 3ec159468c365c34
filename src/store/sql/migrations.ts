import { type CreateTableBuilder, type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { SqlDialect } from "./dialect.js";
import type { Database } from "./schema.js";

/** One step of the schema. It is never changed once it has been in a release. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** The statements, in their order; to be executed or shown. */
  statements(db: Kysely<Database>, dialect: SqlDialect): readonly SchemaStatement[];
}

/** What Kysely's schema builders have in common. */
export interface SchemaStatement {
  compile(): { readonly sql: string };
  execute(): Promise<void>;
}

/** All steps, the first first. The number of the last is the schema that this release knows. */
export const migrations: readonly Migration[] = [
  { version: 1, name: "tasks and what lies beside them", statements: (db, dialect) => firstTables(db, dialect) },
  { version: 2, name: "counters by time", statements: (db, dialect) => countersByTime(db, dialect) },
];

/** Where it is written down which steps were made. */
export function schemaTable(db: Kysely<Database>, dialect: SqlDialect): SchemaStatement {
  const { integer } = dialect.types;
  return tableOf(db, dialect, "schema")
    .ifNotExists()
    .addColumn("version", integer, (column) => column.primaryKey().notNull())
    .addColumn("applied_at", integer, (column) => column.notNull());
}

type Name<Table extends keyof Database> = Table extends `trivium_${infer Short}` ? Short : never;

function tableOf(db: Kysely<Database>, dialect: SqlDialect, name: Name<keyof Database>, clustered = false): Table {
  const end = dialect.tableEnd(clustered);
  const table = db.schema.createTable(`trivium_${name}`);
  return end === undefined ? table : table.modifyEnd(end);
}

function firstTables(db: Kysely<Database>, dialect: SqlDialect): readonly SchemaStatement[] {
  return [
    tasks(db, dialect),
    ...taskIndexes(db),
    snapshots(db, dialect),
    log(db, dialect),
    inbox(db, dialect),
    instances(db, dialect),
    ...sends(db, dialect),
    ...pushConfigs(db, dialect),
    counts(db, dialect),
  ];
}

type Table = CreateTableBuilder<string, string>;

function withText(table: Table, ...names: readonly string[]): Table {
  return names.reduce<Table>((made, name) => made.addColumn(name, "text", (column) => column.notNull()), table);
}

function tasks(db: Kysely<Database>, dialect: SqlDialect): SchemaStatement {
  const { integer, serial } = dialect.types;
  const numbers = ["seq", "epoch", "state", "status_time", "inbox_put", "turn", "turn_seq", "compacted"];
  const times = ["wake_at", "finished_at", "logged_at"];
  const key = tableOf(db, dialect, "tasks").addColumn("key", sql.raw(serial));
  const named = withText(key, "id", "tenant", "owner", "context_id", "incarnation", "version", "holder");
  const counted = numbers.reduce<Table>(
    (made, name) => made.addColumn(name, integer, (column) => column.notNull().defaultTo(0)),
    named.addColumn("name", "text"),
  );
  return times.reduce<Table>((made, name) => made.addColumn(name, integer), counted);
}

// The lists of tasks are walked from the end: a new task, which is the newest, is added there.
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
  const table = tableOf(db, dialect, "snapshots")
    .addColumn("key", integer, (column) => column.primaryKey().notNull())
    .addColumn("seq", integer, (column) => column.notNull());
  return withPayload(table, dialect);
}

function log(db: Kysely<Database>, dialect: SqlDialect): SchemaStatement {
  const { integer } = dialect.types;
  const table = tableOf(db, dialect, "log", true)
    .addColumn("key", integer, (column) => column.notNull())
    .addColumn("seq", integer, (column) => column.notNull())
    .addColumn("count", integer, (column) => column.notNull());
  return withPayload(table, dialect).addPrimaryKeyConstraint("trivium_log_key", ["key", "seq"]);
}

function inbox(db: Kysely<Database>, dialect: SqlDialect): SchemaStatement {
  const { integer } = dialect.types;
  const table = tableOf(db, dialect, "inbox", true)
    .addColumn("key", integer, (column) => column.notNull())
    .addColumn("ordinal", integer, (column) => column.notNull());
  const named = withText(table, "id", "kind");
  return withPayload(named, dialect).addPrimaryKeyConstraint("trivium_inbox_key", ["key", "ordinal"]);
}

function instances(db: Kysely<Database>, dialect: SqlDialect): SchemaStatement {
  return tableOf(db, dialect, "instances")
    .addColumn("name", "text", (column) => column.primaryKey().notNull())
    .addColumn("expires_at", dialect.types.integer, (column) => column.notNull());
}

function sends(db: Kysely<Database>, dialect: SqlDialect): readonly SchemaStatement[] {
  const { integer, bytes } = dialect.types;
  const table = withText(
    tableOf(db, dialect, "sends"),
    ...["tenant", "owner", "message_id", "entry", "digest", "task_id", "instance"],
  )
    .addColumn("attempt", integer, (column) => column.notNull())
    .addColumn("seq", integer, (column) => column.notNull())
    .addColumn("began_at", integer, (column) => column.notNull())
    .addColumn("outcome", "text")
    .addColumn("format", integer, (column) => column.notNull())
    .addColumn("payload", bytes)
    .addPrimaryKeyConstraint("trivium_sends_key", ["tenant", "owner", "message_id"]);
  return [table, db.schema.createIndex("trivium_sends_began").on("trivium_sends").column("began_at")];
}

function pushConfigs(db: Kysely<Database>, dialect: SqlDialect): readonly SchemaStatement[] {
  const { integer } = dialect.types;
  const table = tableOf(db, dialect, "push_configs")
    .addColumn("key", integer, (column) => column.notNull())
    .addColumn("ordinal", integer, (column) => column.notNull())
    .addColumn("cursor", integer, (column) => column.notNull())
    .addColumn("task_name", "text");
  const named = withText(table, "id", "task_id", "tenant", "owner", "version", "holder");
  return [
    withPayload(named, dialect).addPrimaryKeyConstraint("trivium_push_configs_key", ["key", "id"]),
    db.schema.createIndex("trivium_push_configs_holder").on("trivium_push_configs").column("holder"),
  ];
}

function counts(db: Kysely<Database>, dialect: SqlDialect): SchemaStatement {
  const { integer } = dialect.types;
  return withText(tableOf(db, dialect, "counts", true), "tenant", "owner")
    .addColumn("state", integer, (column) => column.notNull())
    .addColumn("shard", "text", (column) => column.notNull())
    .addColumn("count", integer, (column) => column.notNull())
    .addPrimaryKeyConstraint("trivium_counts_key", ["tenant", "owner", "state", "shard"]);
}

/** Those of the tasks that are there are made along with the table. */
function countersByTime(db: Kysely<Database>, dialect: SqlDialect): readonly SchemaStatement[] {
  const { integer } = dialect.types;
  const table = withText(tableOf(db, dialect, "periods", true), "tenant", "owner")
    .addColumn("period", integer, (column) => column.notNull())
    .addColumn("state", integer, (column) => column.notNull())
    .addColumn("shard", "text", (column) => column.notNull())
    .addColumn("count", integer, (column) => column.notNull())
    .addPrimaryKeyConstraint("trivium_periods_key", ["tenant", "owner", "period", "state", "shard"]);
  const loose = db.schema.createIndex("trivium_periods_loose").on("trivium_periods").column("period");
  const filled = sql`insert into "trivium_periods" ("tenant", "owner", "period", "state", "shard", "count")
select "tenant", "owner", "status_time" / 600000, "state", '', count(*) from "trivium_tasks" group by 1, 2, 3, 4`;
  return [table, loose.where(looseRow(dialect)), statementOf(db, filled)];
}

/**
 * What is to be tidied up when a period is over. Shards that are folded leave no zero behind; an index that looked at
 * the count would be written with every change of a counter.
 */
function looseRow({ name }: SqlDialect): RawBuilder<SqlBool> {
  return name === "sqlite" ? sql`"count" = 0` : sql`"shard" <> ''`;
}

function statementOf(db: Kysely<Database>, statement: RawBuilder<unknown>): SchemaStatement {
  return {
    compile: () => statement.compile(db),
    async execute() {
      await statement.execute(db);
    },
  };
}

function withPayload(table: Table, { types }: SqlDialect): Table {
  return table
    .addColumn("format", types.integer, (column) => column.notNull())
    .addColumn("payload", types.bytes, (column) => column.notNull());
}
