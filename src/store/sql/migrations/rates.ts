import { type Kysely, sql } from "kysely";
import type { SqlDialect } from "../dialect.js";
import type { Database } from "../schema.js";
import { type SchemaStatement, tableOf } from "../schema-statements.js";

/**
 * What callers have used of their limits, for processes that share them. A crash of the database forgets it, so nothing is
 * written for one.
 */
export function rateTable(db: Kysely<Database>, dialect: SqlDialect): readonly SchemaStatement[] {
  if (!dialect.sharesRates) return [];
  const { integer } = dialect.types;
  const numbers = ["period", "width", "used", "expires_at", "ceiling", "need", "forced", "granted"];
  const table = tableOf(db, dialect, "rates")
    .modifyFront(sql`unlogged`)
    .addColumn("key", "text", (column) => column.primaryKey().notNull());
  return [
    numbers.reduce((made, name) => made.addColumn(name, integer, (column) => column.notNull()), table),
    db.schema.createIndex("trivium_rates_expires").on("trivium_rates").column("expires_at"),
  ];
}
