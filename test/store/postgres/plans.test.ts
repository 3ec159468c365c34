import { sql } from "kysely";
import { beforeAll, describe, expect, it } from "vitest";
import { openPostgres } from "../../../src/store/postgres/database.js";
import { flushText } from "../../../src/store/postgres/flush-statement.js";
import { hasPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase, type StoreDatabase } from "../../support/postgres-databases.js";
import { alice, appendRow, taskRow } from "../sql/rows.js";

interface Prepared {
  readonly name: string;
  readonly statement: string;
  readonly generic: number;
  readonly custom: number;
}

describe.skipIf(!hasPostgres)("statements of a connection to PostgreSQL", () => {
  let databases: StoreDatabase;
  beforeAll(async () => {
    databases = await createStoreDatabase();
  }, startTimeoutMs);

  /** Writes and reads on one connection, one operation at a time. Returns the connection's prepared statements. */
  async function use(sessions: boolean): Promise<readonly Prepared[]> {
    const { db, backend } = openPostgres({ url: databases.url, sessions, pool: { max: 1 } });
    for (let index = 0; index < 10; index += 1) {
      const { key, id } = await backend.create(taskRow(`${sessions} ${index}`));
      expect(await backend.append(appendRow({ key, epoch: 1, seq: 1 }))).toBe("stored");
      expect(await backend.heads([key])).toMatchObject([{ id, seq: 2 }]);
      expect((await backend.list(alice, { limit: 1 })).tasks).toHaveLength(1);
    }
    const { rows } = await sql<Prepared>`
      select name, statement, generic_plans as generic, custom_plans as custom from pg_prepared_statements
    `.execute(db);
    await backend.close();
    return rows;
  }

  it("statements of a connection to PostgreSQL are planned once, however little they are given", async () => {
    const statements = await use(true);
    expect(statements.filter(({ custom }) => custom > 0)).toEqual([]);
    expect(statements.find(({ statement }) => statement === flushText)).toMatchObject({ generic: 20 });
    const heads = statements.find(({ statement }) => /"t"."key" = any/.test(statement));
    expect(heads).toMatchObject({ generic: 10 });
    expect(new Set(statements.map(({ statement }) => statement)).size).toBe(statements.length);
  });

  it("statements are not prepared behind a pooler that gives each transaction another connection", async () => {
    expect(await use(false)).toEqual([]);
  });
});
