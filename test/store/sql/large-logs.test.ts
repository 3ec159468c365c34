import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readMaxBytes } from "../../../src/store/sql/queries/tasks.js";
import { databaseKinds, type TestDatabase } from "./databases.js";
import { appendRow, taskRow } from "./rows.js";

for (const { name, skipped, make } of databaseKinds()) {
  describe.skipIf(skipped)(`a log of large records on ${name}`, () => {
    let database: TestDatabase;
    beforeEach(async () => {
      database = await make(() => 1_000);
      await database.backend.open();
    });
    afterEach(() => database.backend.close());

    /** A log of `count` records of this size after the first, read to its end: the last number of each page. */
    async function pagesOf(bytes: number, count: number): Promise<readonly number[]> {
      const { backend } = database;
      let head = await backend.create(taskRow("large"));
      for (let index = 0; index < count; index += 1) {
        const log = { seq: head.seq + 1, count: 1, format: 1, bytes: new Uint8Array(bytes) };
        await backend.append({ ...appendRow(head), log });
        head = { ...head, seq: head.seq + 1 };
      }
      const ends: number[] = [];
      for (let after = 1; after < head.seq; ) {
        const page = await backend.recordsAfter(head.key, after, 256);
        if (page === undefined || page === "compacted") throw new Error("the log is gone");
        after = page.log.at(-1)?.seq ?? Number.NaN;
        ends.push(after);
      }
      return ends;
    }

    it("a log of large records is read in pages of 8 MiB", async () => {
      expect(await pagesOf(readMaxBytes / 4, 6)).toEqual([5, 7]);
    });

    it("a log of large records is read record by record when each is larger than a page", async () => {
      expect(await pagesOf(readMaxBytes + 1, 2)).toEqual([2, 3]);
    });

    it("a log is read at once when its records are small", async () => {
      expect(await pagesOf(1000, 10)).toEqual([11]);
    });
  });
}
