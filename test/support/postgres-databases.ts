import { openPostgres } from "../../src/store/postgres/database.js";
import { emptyTables } from "./empty-tables.js";
import { type SharedPostgres, sharedPostgres } from "./postgres.js";

/** A database with the store's tables. */
export interface StoreDatabase {
  readonly server: SharedPostgres;
  readonly url: string;
  /** Empties the tables. */
  clear(): Promise<void>;
}

/** Creates a database with the store's tables. Default: on the server that the tests share. */
export async function createStoreDatabase(on?: SharedPostgres): Promise<StoreDatabase> {
  const server = on ?? (await sharedPostgres());
  const url = await server.createDatabase();
  const { backend } = openPostgres({ url });
  await backend.open();
  await backend.close();
  return {
    server,
    url,
    async clear() {
      await server.query(emptyTables, undefined, url);
    },
  };
}
