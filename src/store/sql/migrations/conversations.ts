import { type Kysely, sql } from "kysely";
import type { SqlDialect } from "../dialect.js";
import type { Database } from "../schema.js";
import { createClusteredTable, createTable, type SchemaStatement, type Table, withText } from "../schema-statements.js";

/** Conversations of contexts, with their states. */
export function conversationTables(db: Kysely<Database>, dialect: SqlDialect): readonly SchemaStatement[] {
  return [
    contexts(db, dialect),
    db.schema
      .createIndex("trivium_contexts_id")
      .unique()
      .on("trivium_contexts")
      .columns(["agent", "tenant", "owner", "context_id"]),
    conversations(db, dialect),
    contextValues(db, dialect),
  ];
}

function contexts(db: Kysely<Database>, dialect: SqlDialect): SchemaStatement {
  const { integer, serial } = dialect.types;
  const key = createTable(db, dialect, "contexts").addColumn("key", sql.raw(serial));
  const texts = withText(key, "agent", "tenant", "owner", "context_id");
  const numbers = ["last", "dropped", "hidden", "bytes", "value_bytes", "max_entries", "used_at"];
  return withNumbers(texts, dialect, ...numbers).addColumn("expires_at", integer);
}

function conversations(db: Kysely<Database>, dialect: SqlDialect): SchemaStatement {
  const { bytes } = dialect.types;
  const table = createClusteredTable(db, dialect, "conversations");
  const numbers = withNumbers(table, dialect, "context", "number", "kind", "at");
  return withNumbers(withText(numbers, "task_id", "item_id"), dialect, "bytes", "format")
    .addColumn("payload", bytes)
    .addPrimaryKeyConstraint("trivium_conversations_key", ["context", "number"]);
}

function contextValues(db: Kysely<Database>, dialect: SqlDialect): SchemaStatement {
  const table = withNumbers(createClusteredTable(db, dialect, "context_values"), dialect, "context", "bytes");
  return withText(table, "name", "version", "json").addPrimaryKeyConstraint("trivium_context_values_key", [
    "context",
    "name",
  ]);
}

function withNumbers(table: Table, { types }: SqlDialect, ...names: readonly string[]): Table {
  return names.reduce<Table>((all, name) => all.addColumn(name, types.integer, (column) => column.notNull()), table);
}
