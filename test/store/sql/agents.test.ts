import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { migrationSql } from "../../../src/store/sql/migrate.js";
import { databaseKinds, migrateUpTo, rowsOf, type TestDatabase } from "./databases.js";
import { alice, appendRow, completion, taskRow } from "./rows.js";

const sibling = { ...alice, agent: "sibling" };
const page = { limit: 5 };

/** Rows of the release without agents: a held task, a parked one, and related rows. */
function before(bytes: string): readonly string[] {
  return [
    `insert into trivium_tasks
      (id, tenant, owner, context_id, name, incarnation, version, holder, state, status_time, wake_at, seq, epoch, turn)
    values ('held', '', 'alice', 'c', 'trip', 'i', '1.0', 'gone', 1, 7000, null, 1, 1, 1),
      ('parked', '', 'alice', 'c', null, 'i', '1.0', '', 1, 8000, 9000, 1, 1, 1)`,
    `insert into trivium_log (key, seq, count, format, payload)
      select key, 1, 1, 1, cast('r' as ${bytes}) from trivium_tasks`,
    "insert into trivium_counts (tenant, owner, state, shard, count) values ('', 'alice', 1, '', 2)",
    "insert into trivium_periods (tenant, owner, period, state, shard, count) values ('', 'alice', 0, 1, '', 2)",
    `insert into trivium_sends
      (tenant, owner, message_id, entry, digest, task_id, instance, attempt, seq, began_at, outcome, format, payload)
    values ('', 'alice', 'm', 'e', 'd', 'held', 'gone', 1, 0, 7000, 'reply', 1, cast('o' as ${bytes}))`,
    `insert into trivium_push_configs
      (key, ordinal, cursor, id, task_id, tenant, owner, version, holder, format, payload)
    select key, 1, 0, 'p', id, tenant, owner, '1.0', 'gone', 1, cast('c' as ${bytes}) from trivium_tasks`,
  ];
}

for (const { name, skipped, make } of databaseKinds()) {
  describe.skipIf(skipped)(`a database of ${name} from before agents had ids`, () => {
    let database: TestDatabase;
    beforeEach(async () => {
      database = await make(() => 10_000);
      await migrateUpTo(database.context, 2);
      for (const text of before(database.context.dialect.types.bytes)) await rowsOf(database.context, text);
    });
    afterEach(() => database.backend.close());

    it("a database from before agents had ids keeps all that it had as the unnamed agent's", async () => {
      const { backend } = database;
      await backend.open();
      const { tasks, total } = await backend.list(alice, page);
      expect([tasks.map(({ head }) => [head.id, head.scope]), total]).toEqual([
        [
          ["parked", alice],
          ["held", alice],
        ],
        2,
      ]);
      expect((await backend.list(alice, { ...page, since: 7_500 })).total).toBe(1);
      expect(await backend.taskNamed(alice, "trip")).toBe("held");
      expect((await backend.orphans("", 5)).map(({ id }) => id)).toEqual(["held"]);
      expect((await backend.due("", 5)).map(({ id }) => id)).toEqual(["parked"]);
      const send = await backend.readSend(alice, "m");
      expect(send).toMatchObject({ scope: alice, entry: "e", attempt: 1, outcome: { kind: "reply" } });
      expect(Buffer.from(send?.outcome?.bytes ?? []).toString()).toBe("o");

      expect(await backend.list(sibling, page)).toEqual({ tasks: [], total: 0, more: false });
      expect(await backend.taskNamed(sibling, "trip")).toBeUndefined();
      expect([await backend.orphans("sibling", 5), await backend.due("sibling", 5)]).toEqual([[], []]);
      expect(await backend.push.adopt("sibling", "there", 5)).toEqual([]);
      const adopted = await backend.push.adopt("", "here", 5);
      expect(adopted.map(({ taskId, scope }) => [taskId, scope]).toSorted()).toEqual([
        ["held", alice],
        ["parked", alice],
      ]);
    });

    it("a database from before agents had ids continues its counters", async () => {
      const { backend } = database;
      await backend.open();
      const head = await backend.head(alice, "held");
      expect(await backend.append(appendRow(head ?? { key: 0, epoch: 0, seq: 0 }, completion(2, 9_000)))).toBe(
        "stored",
      );
      await backend.create(taskRow("new"));
      await backend.create(taskRow("theirs", { scope: sibling }));
      const totals = async (scope: typeof alice) =>
        Promise.all([1, 3].map(async (state) => (await backend.list(scope, { ...page, state })).total));
      expect([await totals(alice), await totals(sibling)]).toEqual([
        [2, 1],
        [1, 0],
      ]);
      await backend.prune({ tasksMs: 0, tasksMax: undefined, logsMs: undefined, sendsMs: 0 }, 10);
      expect([await totals(alice), await totals(sibling)]).toEqual([
        [2, 0],
        [1, 0],
      ]);
      expect(await backend.readSend(alice, "m")).toBeUndefined();
    });

    it("a database from before agents had ids is brought up to date by hand with the printed text", async () => {
      const { context, backend } = database;
      const [, ...statements] = migrationSql(context, 2).split(";\n").slice(0, -2);
      for (const text of statements) await rowsOf(context, text);
      await backend.open();
      expect((await backend.list(alice, page)).total).toBe(2);
    });
  });
}
