import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openPostgres } from "../../../src/store/postgres/database.js";
import { compile, compileBy, type Params } from "../../../src/store/sql/compile.js";
import { type DbContext, inTransaction } from "../../../src/store/sql/dialect.js";
import { pageFor } from "../../../src/store/sql/queries/list.js";
import { openBackend } from "./database.js";
import { alice, appendRow, taskRow } from "./rows.js";

let now = 1_000;
let opened: Awaited<ReturnType<typeof openBackend>>;
beforeEach(async () => {
  now = 1_000;
  opened = await openBackend(":memory:", () => now);
});
afterEach(() => opened.backend.close());

/** A statement over the instances that counts how often it was built. */
function countedStatement() {
  const counted = { builds: 0 };
  const statement = compile(({ db, dialect }: DbContext, { name }: Params<{ readonly name: string }>) => {
    counted.builds += 1;
    return db
      .selectFrom("trivium_instances")
      .select(["name", sql<number>`${dialect.now()}`.as("now")])
      .where("name", "=", name);
  });
  return { counted, statement };
}

describe("a compiled statement", () => {
  it("a compiled statement is built once, and bound to the arguments of each run", async () => {
    const { counted, statement } = countedStatement();
    await opened.backend.renew("here", 10);
    await opened.backend.renew("there", 10);
    const names = [];
    for (const name of ["here", "there", "nowhere"])
      names.push((await statement.first(opened.context, { name }))?.name);
    expect(names).toEqual(["here", "there", undefined]);
    expect(counted.builds).toBe(1);
  });

  it("a compiled statement asks the clock at each run", async () => {
    const { statement } = countedStatement();
    await opened.backend.renew("here", 10);
    const first = await statement.first(opened.context, { name: "here" });
    now = 2_000;
    const second = await statement.first(opened.context, { name: "here" });
    expect([first?.now, second?.now]).toEqual([1_000, 2_000]);
  });

  it("a compiled statement is built for each database in its own words", async () => {
    const { counted, statement } = countedStatement();
    const { db, dialect, backend } = openPostgres({ url: "postgres://nobody@127.0.0.1:1/none" });
    expect(statement.textFor(opened.context)).toContain('"name" = ?');
    expect(statement.textFor({ db, dialect })).toContain('"name" = $1');
    expect(counted.builds).toBe(2);
    await backend.close();
  });

  it("a compiled statement returns how many rows it has written", async () => {
    const free = compile(({ db }, { holder }: Params<{ readonly holder: string }>) =>
      db.updateTable("trivium_tasks").set({ holder: "" }).where("holder", "=", holder),
    );
    await opened.backend.create(taskRow("a"));
    await opened.backend.create(taskRow("b"));
    expect(await free.write(opened.context, { holder: "here" })).toBe(2);
    expect(await free.write(opened.context, { holder: "here" })).toBe(0);
  });

  it("a compiled statement gives a column that its table got after the first run", async () => {
    const all = compile(({ db }) => db.selectFrom("trivium_instances").selectAll());
    await opened.backend.renew("here", 10);
    expect(await all.all(opened.context, {})).toEqual([{ name: "here", expires_at: 1_010, ttl_ms: 10 }]);
    opened.database.exec("alter table trivium_instances add column note text not null default 'new'");
    expect(await all.all(opened.context, {})).toEqual([{ name: "here", expires_at: 1_010, ttl_ms: 10, note: "new" }]);
  });

  it("a compiled statement refuses an argument that SQLite has no form for", async () => {
    const { statement } = countedStatement();
    const args = JSON.parse('{"name":{}}');
    await expect(statement.first(opened.context, args)).rejects.toThrow(
      "a parameter is null, a number, a string or bytes",
    );
  });
});

describe("a statement that runs while a transaction is open", () => {
  it("a statement outside an open transaction sees nothing of it, and is not undone with it", async () => {
    let undo = (): void => {};
    const undone = new Promise<void>((resolve) => {
      undo = resolve;
    });
    let began = (): void => {};
    const start = new Promise<void>((resolve) => {
      began = resolve;
    });
    const failing = inTransaction(opened.context, async (within) => {
      await sql`insert into trivium_instances (name, expires_at) values ('inside', 1)`.execute(within.db);
      began();
      await undone;
      throw new Error("undone");
    });
    await start;
    const renewed = opened.backend.renew("outside", 10);
    const { statement } = countedStatement();
    const row = statement.first(opened.context, { name: "inside" });
    undo();
    await expect(failing).rejects.toThrow("undone");
    await renewed;
    expect(await row).toBeUndefined();
    expect(await statement.first(opened.context, { name: "outside" })).toMatchObject({ name: "outside" });
  });

  it("a statement within an open transaction is undone with it", async () => {
    const add = compile(({ db }, { name }: Params<{ readonly name: string }>) =>
      db.insertInto("trivium_instances").values({ name, expires_at: 5_000 }),
    );
    const { statement } = countedStatement();
    const failing = inTransaction(opened.context, async (within) => {
      await add.write(within, { name: "inside" });
      expect(await statement.first(within, { name: "inside" })).toBeDefined();
      throw new Error("undone");
    });
    await expect(failing).rejects.toThrow("undone");
    expect(await statement.first(opened.context, { name: "inside" })).toBeUndefined();
  });
});

describe("statements with a few forms", () => {
  it("statements with a few forms are made once for each", () => {
    const keys: string[] = [];
    const forms = compileBy((key: string) => keys.push(key));
    expect([forms("a"), forms("b"), forms("a")]).toEqual([1, 2, 1]);
  });

  it("statements are the same for pages with the same filters, whatever their values", () => {
    const first = pageFor({ state: 3, after: { statusTime: 1, key: 1 } });
    expect(pageFor({ after: { statusTime: 9, key: 2 }, state: 1 })).toBe(first);
    expect(pageFor({ state: 3 })).not.toBe(first);
    expect(pageFor({ state: 0 })).toBe(pageFor({ state: 3 }));
  });
});

describe("rows after one task's snapshot and after those of many", () => {
  it("rows after one task's snapshot and after those of many are the same", async () => {
    const { backend } = opened;
    for (const id of ["a", "b", "c"]) {
      const { key } = await backend.create(
        taskRow(id, { snapshot: { seq: 1, format: 1, bytes: new Uint8Array([1]) } }),
      );
      for (const seq of [1, 2]) await backend.append(appendRow({ key, epoch: 1, seq }));
    }
    const { tasks } = await backend.list(alice, { limit: 3 });
    const alone = await Promise.all(["c", "b", "a"].map((id) => backend.read(alice, id)));
    expect(tasks).toEqual(alone);
    expect(alone.map((task) => task?.log.map(({ seq }) => seq))).toEqual([
      [2, 3],
      [2, 3],
      [2, 3],
    ]);
  });
});
