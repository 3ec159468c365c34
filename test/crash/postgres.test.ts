import { afterAll, beforeAll, describe, it } from "vitest";
import { hasPostgres, type PostgresServer, startPostgres } from "../support/postgres.js";
import { crashRun, type StoreUnderTest } from "./crash-run.js";
import { expectWhole, kills, seed } from "./options.js";

/** Every tenth kill also kills the database. */
const databaseKillEvery = 10;

describe.skipIf(!hasPostgres).each([
  { agent: "that cannot be run again", restartable: false },
  { agent: "that can be run again", restartable: true },
])("a server on PostgreSQL with an agent $agent", ({ restartable }) => {
  let postgres: PostgresServer;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres[Symbol.asyncDispose]());

  it("a server on PostgreSQL keeps every acknowledged event through kills of itself and the database", async ({
    signal,
  }) => {
    const place = await postgres.createDatabase();
    const store = storeOn(postgres, place);
    expectWhole(await crashRun({ store, kills, seed, restartable, signal }), restartable);
  });
});

function storeOn(postgres: PostgresServer, place: string): StoreUnderTest {
  let downs = 0;
  return {
    place: () => place,
    async damage() {
      downs++;
      if (downs % databaseKillEvery !== databaseKillEvery / 2) return [];
      await postgres.kill();
      await postgres.start();
      return [];
    },
  };
}
