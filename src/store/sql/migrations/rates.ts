import { type Kysely, sql } from "kysely";
import type { SqlDialect } from "../dialect.js";
import type { Database } from "../schema.js";
import { createTable, type SchemaStatement } from "../schema-statements.js";

/**
 * The use of callers' limits, for processes that share them. The table is not logged: a crash of the database resets
 * the limits.
 */
export function rateTable(db: Kysely<Database>, dialect: SqlDialect): readonly SchemaStatement[] {
  if (!dialect.sharesRates) return [];
  const { integer } = dialect.types;
  const numbers = ["period", "width", "used", "expires_at", "ceiling", "need", "forced", "granted"];
  const table = createTable(db, dialect, "rates")
    .modifyFront(sql`unlogged`)
    .addColumn("key", "text", (column) => column.primaryKey().notNull());
  return [
    numbers.reduce((all, name) => all.addColumn(name, integer, (column) => column.notNull()), table),
    db.schema.createIndex("trivium_rates_expires").on("trivium_rates").column("expires_at"),
  ];
}
