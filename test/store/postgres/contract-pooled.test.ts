import { afterAll, beforeAll, describe, it } from "vitest";
import { systemClock } from "../../../src/protocol/async/system-clock.js";
import { createPoolerMode } from "../../../src/store/postgres/connection.js";
import { openPostgres } from "../../../src/store/postgres/database.js";
import { postgresSignals } from "../../../src/store/postgres/signals.js";
import { pushStoreContract } from "../../../src/testing/contract/push-store.js";
import { rateStoreContract } from "../../../src/testing/contract/rate-store.js";
import { signalsContract } from "../../../src/testing/contract/signals.js";
import { taskStoreContract } from "../../../src/testing/contract/task-store.js";
import { hasPgBouncer, type PgBouncer, type PgBouncerOptions, startPgBouncer } from "../../support/pgbouncer.js";
import { sharedPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase } from "../../support/postgres-databases.js";
import { tries } from "../../support/tries.js";
import { type ContractStores, contractStores } from "./contract-setup.js";

// What contract.test.ts tests, behind a PgBouncer in each of its modes, and by the database's own clock. In transaction
// mode a database has fewer server connections than the store has clients, which get them in turn.

const poolers: readonly PgBouncerOptions[] = [
  { mode: "session", settings: { default_pool_size: 40 } },
  { mode: "transaction", settings: { default_pool_size: 3, server_round_robin: 1 } },
];

describe.skipIf(!hasPgBouncer).each(poolers)("behind PgBouncer in $mode mode", { concurrent: true }, (options) => {
  const { mode } = options;
  let pooler: PgBouncer;
  let stores: ContractStores;

  beforeAll(async () => {
    const { url } = await sharedPostgres();
    pooler = await startPgBouncer(url, options);
    stores = await contractStores({ clockOf: "database", pool: { max: 4 }, through: pooler });
  }, startTimeoutMs);
  afterAll(async () => {
    await stores[Symbol.asyncDispose]();
    await pooler[Symbol.asyncDispose]();
  });

  const make = async () => ({ store: (await stores.make()).store });

  describe("the task store", () => {
    for (const { name, run } of taskStoreContract(make, { histories: tries(3, 20) })) it(name, run);
  });

  describe("the push store", () => {
    const makePush = async () => {
      const { store: tasks } = await make();
      if (tasks.push === undefined) throw new Error("the storage keeps no push configurations");
      return { store: tasks.push, tasks };
    };
    for (const { name, run } of pushStoreContract(makePush)) it(name, run);
  });

  describe("the limits of callers", { concurrent: false }, () => {
    const makeRates = async () => {
      const url = pooler.urlFor((await createStoreDatabase()).url);
      const [here, there] = [openPostgres({ url }), openPostgres({ url })];
      closers.push(
        ...[here, there].map(
          ({ backend }) =>
            () =>
              backend.close(),
        ),
      );
      return { here: here.rates, there: there.rates };
    };
    for (const { name, run } of rateStoreContract(makeRates, { histories: 5 })) it(name, run);
  });

  if (mode === "session") {
    describe("the hints", { concurrent: false }, () => {
      const makeSignals = async () => {
        const url = pooler.urlFor((await sharedPostgres()).url);
        const [here, there] = [0, 1].map(() =>
          postgresSignals({
            ...{ url, clock: systemClock, mode: createPoolerMode(), sessions: undefined, prepare: undefined },
            ...{ connectTimeoutMs: 10_000, statementTimeoutMs: 10_000 },
          }),
        );
        if (here === undefined || there === undefined) throw new Error("there are two");
        closers.push(here.close, there.close);
        return { here, there };
      };
      for (const { name, run } of signalsContract(makeSignals)) it(name, run);
    });
  }

  const closers: (() => Promise<void>)[] = [];
  afterAll(() => Promise.all(closers.map((close) => close())));
});
