import { beforeAll, describe, expect, it } from "vitest";
import { hasPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase, type StoreDatabase } from "../../support/postgres-databases.js";
import { runSource } from "../sql/source-process.js";

let databases: StoreDatabase;

describe.skipIf(!hasPostgres)("a process in which nothing else runs", () => {
  beforeAll(async () => {
    databases = await createStoreDatabase();
  }, startTimeoutMs);

  const uses = { unused: [], opening: [], opened: [], used: ["used"], served: ["served"] } as const;
  const cases = Object.entries(uses).flatMap(([use, output]) => [true, false].map((hints) => ({ use, output, hints })));

  it.each(cases)(
    "a process in which nothing else runs closes a store that is $use, with hints $hints, and exits with 0",
    async ({ use, output, hints }) => {
      const process = runSource("../postgres/closing-process.ts", databases.url, use, `${hints}`);
      expect(await process.rest()).toEqual([...output, "closed", "closed twice"]);
      expect(await process.end).toBe(0);
    },
  );

  it.each([true, false])(
    "a process in which nothing else runs exits with 0 though its store was not closed, with hints %s",
    async (hints) => {
      const process = runSource("../postgres/closing-process.ts", databases.url, "left", `${hints}`);
      expect(await process.rest()).toEqual(["used"]);
      expect(await process.end).toBe(0);
    },
  );

  it("a store that is closed leaves no connection open", async () => {
    const process = runSource("../postgres/closing-process.ts", databases.url, "used", "true");
    expect(await process.end).toBe(0);
    const others = "select count(*)::int as count from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()";
    const name = new URL(databases.url).pathname.slice(1);
    await expect.poll(async () => (await databases.server.query(others, [name]))[0]).toEqual({ count: 0 });
  });
});

describe("a process in which nothing else runs, without a database", () => {
  it.each(["opening", "unused"])("a process without a database closes a store that is %s all the same", async (use) => {
    const process = runSource("../postgres/closing-process.ts", "postgres://127.0.0.1:1/none", use, "true");
    expect(await process.rest()).toEqual(["closed", "closed twice"]);
    expect(await process.end).toBe(0);
  });
});
