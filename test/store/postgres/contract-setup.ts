import { sql } from "kysely";
import type { Store } from "../../../src/core/ports.js";
import { openPostgres, type PostgresDatabase } from "../../../src/store/postgres/database.js";
import type { PostgresConnectOptions } from "../../../src/store/postgres/settings.js";
import { createSqlStore } from "../../../src/store/sql/task-store.js";
import { createTestClock, type TestClock } from "../../../src/testing/test-clock.js";
import { emptyTables } from "../../support/empty-tables.js";
import type { PgBouncer } from "../../support/pgbouncer.js";
import { createStoreDatabase } from "../../support/postgres-databases.js";

type Options = Omit<PostgresConnectOptions, "url"> & {
  /** Whose time it is: the test's, or that of the database. */
  readonly clockOf: "test" | "database";
  /** The pooler that the stores connect through. Default: none. */
  readonly through?: Pick<PgBouncer, "urlFor"> | undefined;
};

/** Stores for cases that run at the same time. */
export interface ContractStores extends AsyncDisposable {
  /** An empty store. Its database is that of a later case once it is closed. */
  make(): Promise<{ readonly store: Store; readonly clock: TestClock }>;
}

/** A database that one case at a time uses, with that case's clock. */
interface Slot {
  readonly database: PostgresDatabase;
  clock: TestClock;
}

/** Makes stores on databases whose connections the cases share: new ones take longer than most cases. */
export async function contractStores({ clockOf, through, ...options }: Options): Promise<ContractStores> {
  const { server, url: template } = await createStoreDatabase();
  const opened: PostgresDatabase[] = [];
  const free: Slot[] = [];

  async function newSlot(): Promise<Slot> {
    const url = await server.createDatabase(template);
    const settings = { ...options, url: through?.urlFor(url) ?? url };
    let clock = createTestClock();
    const database = openPostgres(settings, clockOf === "test" ? () => clock.now() : undefined);
    opened.push(database);
    return {
      database,
      get clock() {
        return clock;
      },
      set clock(next) {
        clock = next;
      },
    };
  }

  return {
    async make() {
      const slot = free.pop() ?? (await newSlot());
      const clock = createTestClock();
      slot.clock = clock;
      const { db, backend } = slot.database;
      await sql.raw(emptyTables).execute(db);
      const close = async () => void free.push(slot);
      const own = clockOf === "test" ? { clock } : {};
      return { store: createSqlStore({ ...backend, open: async () => {}, close }, own), clock };
    },
    async [Symbol.asyncDispose]() {
      for (const { backend } of opened) await backend.close();
    },
  };
}
