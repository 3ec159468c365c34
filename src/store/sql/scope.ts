import { type SqlBool, sql } from "kysely";
import type { Scope } from "../../protocol/context.js";
import type { Params } from "./compile.js";

/** The condition that a row of `table` belongs to a scope. */
export function inScope(table: string, { agent, tenant, owner }: Params<Scope>) {
  const column = (name: keyof Scope) => sql.ref(`${table}.${name}`);
  return sql<SqlBool>`${column("agent")} = ${agent} and ${column("tenant")} = ${tenant} and ${column("owner")} = ${owner}`;
}
