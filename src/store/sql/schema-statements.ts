import { type CreateTableBuilder, type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { SqlDialect } from "./dialect.js";
import type { Database } from "./schema.js";

// The building blocks of migrations. The tables created here never change: a step that changes one does so itself.

/** A statement of Kysely's schema builders, of any kind. */
export interface SchemaStatement {
  compile(): { readonly sql: string };
  execute(): Promise<void>;
}

export type Table = CreateTableBuilder<string, string>;

type Name<T extends keyof Database> = T extends `trivium_${infer Short}` ? Short : never;

/** A table name without the prefix. */
export type TableName = Name<keyof Database>;

export function createTable(db: Kysely<Database>, dialect: SqlDialect, name: TableName): Table {
  return withEnd(db.schema.createTable(`trivium_${name}`), dialect.tableEnd(false));
}

/** A table whose rows are kept in the order of its primary key, where the database can do that. */
export function createClusteredTable(db: Kysely<Database>, dialect: SqlDialect, name: TableName): Table {
  return withEnd(db.schema.createTable(`trivium_${name}`), dialect.tableEnd(true));
}

function withEnd(table: Table, end: ReturnType<SqlDialect["tableEnd"]>): Table {
  return end === undefined ? table : table.modifyEnd(end);
}

export function withText(table: Table, ...names: readonly string[]): Table {
  return names.reduce<Table>((all, name) => all.addColumn(name, "text", (column) => column.notNull()), table);
}

export function withPayload(table: Table, { types }: SqlDialect): Table {
  return table
    .addColumn("format", types.integer, (column) => column.notNull())
    .addColumn("payload", types.bytes, (column) => column.notNull());
}

export function toStatement(db: Kysely<Database>, statement: RawBuilder<unknown>): SchemaStatement {
  return {
    compile: () => statement.compile(db),
    async execute() {
      await statement.execute(db);
    },
  };
}

/** The columns of a row's scope; they include the agent since schema 3. */
export type ScopeColumns = readonly ["tenant", "owner"] | readonly ["agent", "tenant", "owner"];

function withOwner(table: Table, columns: ScopeColumns): Table {
  return columns.reduce<Table>(
    (all, name) =>
      all.addColumn(name, "text", (column) =>
        name === "agent" ? column.notNull().defaultTo(sql.lit("")) : column.notNull(),
      ),
    table,
  );
}

/** Idempotent sends. */
export function sendsTable(db: Kysely<Database>, dialect: SqlDialect, columns: ScopeColumns): SchemaStatement {
  const { integer, bytes } = dialect.types;
  const texts = ["message_id", "entry", "digest", "task_id", "instance"];
  return withText(withOwner(createTable(db, dialect, "sends"), columns), ...texts)
    .addColumn("attempt", integer, (column) => column.notNull())
    .addColumn("seq", integer, (column) => column.notNull())
    .addColumn("began_at", integer, (column) => column.notNull())
    .addColumn("outcome", "text")
    .addColumn("format", integer, (column) => column.notNull())
    .addColumn("payload", bytes)
    .addPrimaryKeyConstraint("trivium_sends_key", [...columns, "message_id"]);
}

export function sendsIndex(db: Kysely<Database>): SchemaStatement {
  return db.schema.createIndex("trivium_sends_began").on("trivium_sends").column("began_at");
}

/** The number of an owner's tasks by state. */
export function countsTable(db: Kysely<Database>, dialect: SqlDialect, columns: ScopeColumns): SchemaStatement {
  const { integer } = dialect.types;
  return withOwner(createClusteredTable(db, dialect, "counts"), columns)
    .addColumn("state", integer, (column) => column.notNull())
    .addColumn("shard", "text", (column) => column.notNull())
    .addColumn("count", integer, (column) => column.notNull())
    .addPrimaryKeyConstraint("trivium_counts_key", [...columns, "state", "shard"]);
}

/** The same by time. */
export function periodsTable(db: Kysely<Database>, dialect: SqlDialect, columns: ScopeColumns): SchemaStatement {
  const { integer } = dialect.types;
  return withOwner(createClusteredTable(db, dialect, "periods"), columns)
    .addColumn("period", integer, (column) => column.notNull())
    .addColumn("state", integer, (column) => column.notNull())
    .addColumn("shard", "text", (column) => column.notNull())
    .addColumn("count", integer, (column) => column.notNull())
    .addPrimaryKeyConstraint("trivium_periods_key", [...columns, "period", "state", "shard"]);
}

/**
 * The index of rows to fold when their period is over. Folded shards leave no zero rows. An index on the count would be written with
 * every change of a counter.
 */
export function periodsIndex(db: Kysely<Database>, { shard }: SqlDialect): SchemaStatement {
  const condition = shard === "" ? sql<SqlBool>`"count" = 0` : sql<SqlBool>`"shard" <> ''`;
  return db.schema.createIndex("trivium_periods_loose").on("trivium_periods").column("period").where(condition);
}
