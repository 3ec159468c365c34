import { beforeAll, describe, expect, it } from "vitest";
import { trivium } from "../support/command.js";
import { hasPgBouncer, type PoolMode, startPgBouncer } from "../support/pgbouncer.js";
import { type SharedPostgres, sharedPostgres, startTimeoutMs } from "../support/postgres.js";
import { createStoreDatabase } from "../support/postgres-databases.js";

interface Finding {
  readonly check: string;
  readonly result: string;
  readonly seen: string;
  readonly remedy?: string;
}

/** What `trivium doctor --store` finds about a database. */
async function examine(url: string): Promise<(check: string) => Finding | undefined> {
  const { stdout } = await trivium(["doctor", "--store", url, "--json"]);
  const { findings } = JSON.parse(stdout) as { readonly findings: readonly Finding[] };
  return (check) => findings.find((each) => each.check === check);
}

let server: SharedPostgres;
let database: string;

describe.skipIf(!hasPgBouncer)("trivium doctor checks a database behind a pooler", { concurrent: true }, () => {
  beforeAll(async () => {
    server = await sharedPostgres();
    ({ url: database } = await createStoreDatabase());
  }, startTimeoutMs);

  const start = (mode: PoolMode | "statement", users: readonly string[] = []) =>
    startPgBouncer(server.url, { mode: "session", users, settings: { pool_mode: mode, default_pool_size: 1 } });

  it("trivium doctor says that a database has no pooler", async () => {
    const of = await examine(database);
    expect(of("store connection")).toEqual({
      check: "store connection",
      result: "ok",
      seen: "connections have sessions of their own",
    });
    expect(of("store limits")).toBeUndefined();
  });

  it("trivium doctor checks a pooler in session mode", async () => {
    await using pooler = await startPgBouncer(server.url, { mode: "session" });
    const of = await examine(pooler.urlFor(database));
    expect(of("store connection")).toMatchObject({ result: "ok", seen: expect.stringContaining("session mode") });
    expect(of("store limits")).toBeUndefined();
    expect(of("store schema")?.result).toBe("ok");
  });

  it("trivium doctor checks a pooler in transaction mode, where only the role can limit statements", async () => {
    const role = "Careful agent";
    await server.query(`create role "${role}" login superuser`);
    await using pooler = await start("transaction", [role]);
    const address = new URL(pooler.urlFor(database));
    address.username = role;
    const before = await examine(address.href);
    expect(before("store connection")).toMatchObject({
      result: "ok",
      seen: expect.stringMatching(/transaction mode.*directUrl/),
    });
    const limits = before("store limits");
    expect(limits).toMatchObject({ result: "warning", seen: expect.stringContaining("no time limit") });
    expect(before("store sessions")).toBeUndefined();
    // The remedy is SQL that can be run as it is.
    await server.query(limits?.remedy ?? "");
    await pooler.ask("reconnect");
    const after = await examine(address.href);
    expect(after("store limits")).toMatchObject({ result: "ok", seen: expect.stringMatching(/ after 30 s$/) });
  });

  it("trivium doctor checks a pooler whose other clients leave their settings in its sessions", async () => {
    await using pooler = await start("transaction");
    const url = pooler.urlFor(database);
    const before = await examine(url);
    expect(before("store sessions")).toBeUndefined();
    await server.query("set lock_timeout = '1s'", [], url);
    await server.query("set statement_timeout = '7s'", [], url);
    const after = await examine(url);
    expect(after("store sessions")).toMatchObject({
      result: "warning",
      seen: expect.stringContaining("lock_timeout, statement_timeout"),
      remedy: expect.stringContaining("SET LOCAL"),
    });
    expect(after("store limits")?.result).toBe("warning");
  });

  it("trivium doctor checks a pooler in statement mode, and one that refuses what the URL sets", async () => {
    await using pooler = await start("statement");
    expect((await examine(pooler.urlFor(database)))("store")).toEqual({
      check: "store",
      result: "failed",
      seen: expect.stringContaining("use its session or transaction mode"),
    });
    const url = `${pooler.urlFor(database)}?options=${encodeURIComponent("-c work_mem=1MB")}`;
    expect((await examine(url))("store")).toEqual({
      check: "store",
      result: "failed",
      seen: expect.stringContaining("remove it from the url"),
    });
  });
});
