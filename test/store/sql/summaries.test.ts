import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { StatusRow } from "../../../src/store/sql/rows.js";
import { databaseKinds, rowsOf, type TestDatabase } from "./databases.js";
import { alice, appendRow, completion, taskRow } from "./rows.js";

const working = (time: number, summary?: Uint8Array): { readonly status: StatusRow } => ({
  status: { state: 2, time, summary },
});

for (const { name, skipped, make } of databaseKinds()) {
  describe.skipIf(skipped)(`a list of summaries from ${name}`, () => {
    let database: TestDatabase;
    beforeEach(async () => {
      database = await make(() => 1_000);
      await database.backend.open();
    });
    afterEach(() => database.backend.close());

    /** What the list reads of the only task. */
    async function listSummaries() {
      const { tasks } = await database.backend.list(alice, { limit: 5, summaries: true });
      const [task] = tasks;
      if (task === undefined || tasks.length > 1) throw new Error("there is one task");
      const { summary } = task;
      const bytes = summary === undefined ? undefined : [...summary];
      return { summary: bytes, snapshot: task.snapshot?.seq, log: task.log.map(({ seq }) => seq) };
    }

    it("a list of summaries reads neither snapshots nor logs of tasks that have one", async () => {
      const { backend } = database;
      const status = { state: 1, time: 1_000, summary: new Uint8Array([1]) };
      const { key } = await backend.create(taskRow("summarized", { status }));
      expect(await listSummaries()).toEqual({ summary: [1], snapshot: undefined, log: [] });
      await backend.append(appendRow({ key, epoch: 1, seq: 1 }, working(2_000, new Uint8Array([2]))));
      await backend.append(appendRow({ key, epoch: 1, seq: 2 }));
      expect(await listSummaries()).toEqual({ summary: [2], snapshot: undefined, log: [] });
      const ended = completion(4, 3_000);
      const last = { state: 3, time: 3_000, summary: new Uint8Array([3]) };
      await backend.append(appendRow({ key, epoch: 1, seq: 3 }, { ...ended, status: last }));
      expect(await listSummaries()).toEqual({ summary: [3], snapshot: undefined, log: [] });
    });

    it("a list of summaries reads the whole task when its last status came without a summary", async () => {
      const { backend } = database;
      const status = { state: 1, time: 1_000, summary: new Uint8Array([1]) };
      const { key } = await backend.create(taskRow("plain", { status }));
      await backend.append(appendRow({ key, epoch: 1, seq: 1 }, working(2_000)));
      expect(await listSummaries()).toEqual({ summary: undefined, snapshot: undefined, log: [1, 2] });
      await backend.append(appendRow({ key, epoch: 1, seq: 2 }, completion(3, 3_000)));
      expect(await listSummaries()).toEqual({ summary: undefined, snapshot: 3, log: [] });
    });

    it("a list of summaries takes none that an earlier release has left behind", async () => {
      const status = { state: 1, time: 1_000, summary: new Uint8Array([1]) };
      await database.backend.create(taskRow("moved", { status }));
      await rowsOf(database.context, "update trivium_tasks set state = 2, status_time = 1001");
      expect(await listSummaries()).toEqual({ summary: undefined, snapshot: undefined, log: [1] });
    });
  });
}
