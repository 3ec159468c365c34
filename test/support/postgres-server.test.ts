import { describe, expect, it } from "vitest";
import { hasPostgres, startPostgres } from "./postgres.js";

describe.skipIf(!hasPostgres)("a PostgreSQL of the tests", () => {
  it("a PostgreSQL of the tests keeps committed data over a stop and a kill, on the same port", async () => {
    await using server = await startPostgres();
    const url = await server.createDatabase();
    await server.query("create table t (n int)", [], url);
    for (const end of [() => server.stop(), () => server.kill(), () => server.stop("immediate")]) {
      await server.query("insert into t values (1)", [], url);
      await end();
      // A killed server's processes hold its socket until they notice.
      await expect(server.query("select 1", [], url)).rejects.toThrow(/ECONNREFUSED|ECONNRESET/);
      await server.start();
    }
    expect(await server.query("select count(*)::int as n from t", [], url)).toEqual([{ n: 3 }]);
    const copy = await server.createDatabase(url);
    expect(await server.query("select count(*)::int as n from t", [], copy)).toEqual([{ n: 3 }]);
  });
});
