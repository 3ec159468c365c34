import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ListQuery } from "../../../src/core/ports.js";
import type { DbContext } from "../../../src/store/sql/dialect.js";
import { due, expiredHolders, heldBy, parkedCounts, waiting } from "../../../src/store/sql/queries/instances.js";
import { countFor, pageFor } from "../../../src/store/sql/queries/list.js";
import { adoptable } from "../../../src/store/sql/queries/push.js";
import { openBackend } from "./database.js";

const after = { statusTime: 5, key: 4 };

let opened: Awaited<ReturnType<typeof openBackend>>;
beforeAll(async () => {
  opened = await openBackend();
});
afterAll(() => opened.backend.close());

/** The steps of SQLite's query plan, as text. */
function planOf(statement: { textFor(context: DbContext): string }): string[] {
  const rows = opened.database.prepare(`explain query plan ${statement.textFor(opened.context)}`).all();
  return rows.map(({ detail }) => String(detail));
}

const pages: readonly (readonly [Omit<ListQuery, "limit">, string])[] = [
  [{}, "time (agent=? AND tenant=? AND owner=?)"],
  [{ after }, "time (agent=? AND tenant=? AND owner=? AND status_time<?)"],
  [{ since: 3 }, "time (agent=? AND tenant=? AND owner=? AND status_time>?)"],
  [{ since: 3, after }, "time (agent=? AND tenant=? AND owner=? AND status_time>? AND status_time<?)"],
  [{ state: 3 }, "state (agent=? AND tenant=? AND owner=? AND state=?)"],
  [{ state: 3, after }, "state (agent=? AND tenant=? AND owner=? AND state=? AND status_time<?)"],
  [
    { state: 3, since: 3, after },
    "state (agent=? AND tenant=? AND owner=? AND state=? AND status_time>? AND status_time<?)",
  ],
  [{ contextId: "c" }, "context (agent=? AND tenant=? AND owner=? AND context_id=?)"],
  [{ contextId: "c", after }, "context (agent=? AND tenant=? AND owner=? AND context_id=? AND status_time<?)"],
  [{ contextId: "c", state: 3 }, "context (agent=? AND tenant=? AND owner=? AND context_id=?)"],
  [
    { contextId: "c", state: 3, since: 3, after },
    "context (agent=? AND tenant=? AND owner=? AND context_id=? AND status_time>? AND status_time<?)",
  ],
];

describe("a page of tasks", () => {
  for (const [filters, walk] of pages) {
    it(`a page of tasks with ${JSON.stringify(filters)} is one walk of an index, without sorting`, () => {
      const plan = planOf(pageFor(filters));
      expect(plan[0]).toBe(`SEARCH t USING INDEX trivium_tasks_${walk}`);
      expect(plan.filter((step) => /TEMP B-TREE|^SCAN/.test(step))).toEqual([]);
    });
  }

  for (const filters of [{ contextId: "c" }, { contextId: "c", state: 3 }, { contextId: "c", state: 3, since: 3 }]) {
    it(`a page of tasks is counted for ${JSON.stringify(filters)} without looking at a task`, () => {
      const plan = planOf(countFor(filters));
      expect(plan).toEqual([expect.stringMatching(/^SEARCH t USING COVERING INDEX /)]);
    });
  }

  const countCases: readonly (readonly [Omit<ListQuery, "limit">, string])[] = [
    [{ since: 3 }, "time (agent=? AND tenant=? AND owner=? AND status_time>? AND status_time<?)"],
    [
      { since: 3, state: 3 },
      "state (agent=? AND tenant=? AND owner=? AND state=? AND status_time>? AND status_time<?)",
    ],
  ];
  for (const [filters, range] of countCases) {
    it(`a page of tasks is counted for ${JSON.stringify(filters)} by counters, and by an index for one period`, () => {
      expect(planOf(countFor(filters))).toEqual([
        "SEARCH p USING PRIMARY KEY (agent=? AND tenant=? AND owner=? AND period>?)",
        "SCALAR SUBQUERY 1",
        `SEARCH t USING COVERING INDEX trivium_tasks_${range}`,
      ]);
    });
  }
});

describe("repeated queries", () => {
  const statements = {
    "tasks of an expired holder": heldBy,
    "tasks to be woken": due,
    "tasks that wait for their callers": waiting,
    "push configurations to be adopted": adoptable,
  };
  for (const [name, statement] of Object.entries(statements)) {
    it(`${name} are found without going through a table`, () => {
      // The few tasks of a holder are sorted when they are read.
      const sorted = statement === heldBy ? ["USE TEMP B-TREE FOR ORDER BY"] : [];
      const plan = planOf(statement).filter((step) => !sorted.includes(step));
      expect(plan.filter((step) => /TEMP B-TREE|SCAN (?:t|p|i|trivium\w*)\b/.test(step))).toEqual([]);
      expect(plan.some((step) => /^SEARCH [tp] USING INDEX trivium_/.test(step))).toBe(true);
    });
  }

  it("parked tasks are counted by two indexes that hold no others", () => {
    expect(planOf(parkedCounts).filter((step) => /^(?:SCAN|SEARCH) (?!CONSTANT)/.test(step))).toEqual([
      "SEARCH t USING COVERING INDEX trivium_tasks_wake (agent=? AND wake_at>?)",
      "SEARCH t USING INDEX trivium_tasks_waiting (agent=?)",
    ]);
  });

  it("expired holders are found by going from one to the next in the index", () => {
    const plan = planOf(expiredHolders);
    expect(plan).toContain("SEARCH trivium_tasks USING COVERING INDEX trivium_tasks_holder (holder>?)");
    expect(plan.filter((step) => /^SCAN trivium/.test(step))).toEqual([]);
  });
});
