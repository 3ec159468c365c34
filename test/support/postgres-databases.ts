import { openPostgres } from "../../src/store/postgres/database.js";
import { type PostgresServer, type PostgresServerOptions, startPostgres } from "./postgres.js";

/** A server with one database that has the store's tables. */
export interface StoreServer extends AsyncDisposable {
  readonly server: PostgresServer;
  readonly url: string;
  /** Empties the tables. */
  clear(): Promise<void>;
}

const tables = ["tasks", "snapshots", "log", "inbox", "instances", "sends", "push_configs", "counts", "periods"];

/** Empties the store's tables. */
export const emptyTables = tables.map((name) => `delete from trivium_${name}`).join(";");

export async function startStoreServer(options: PostgresServerOptions = {}): Promise<StoreServer> {
  const server = await startPostgres(options);
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
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
