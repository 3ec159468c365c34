import assert from "node:assert/strict";
import type { Head, ListQuery, StoredTask, TaskStore } from "../../core/ports.js";
import { TaskState } from "../../protocol/model.js";
import { alice, appendTo, assertWhole, bob, events, foreign, newTask, status, taskAt } from "./fixtures.js";
import { type MakeTaskStore, type Suite, withStore } from "./suite.js";

const { SUBMITTED, WORKING, COMPLETED } = TaskState;

/** Pages of tasks. */
export function listTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("a list", () => {
    it(
      "is ordered by status time, the newest first, then by key, the higher first",
      withStore(make, async (store) => {
        const keys = await fill(store, [30, 10, 20, 10, 30]);
        const page = await store.list(alice, { limit: 10 });
        assert.deepEqual(findPlaces(keys, page.tasks), [4, 0, 2, 3, 1]);
        assert.deepEqual([page.total, page.more], [5, false]);
      }),
    );
    it(
      "holds whole tasks",
      withStore(make, async (store) => {
        const { key } = await store.create(newTask({ records: events(0, 3) }));
        await store.append(appendTo({ key, epoch: 1, seq: 3 }, { ...status(COMPLETED, 9, 4), end: { inboxPut: 0 } }));
        await store.append(appendTo({ key, epoch: 1, seq: 4 }));
        const [task] = (await store.list(alice, { limit: 1 })).tasks;
        assert.ok(task !== undefined);
        assertWhole(task, events(0, 5));
      }),
    );
    it(
      "shows a scope its own tasks only",
      withStore(make, async (store) => {
        await fill(store, [1, 2]);
        const { id } = await store.create(newTask({ scope: bob }));
        const page = await store.list(bob, { limit: 10 });
        assert.deepEqual([page.tasks.map(({ head }) => head.id), page.total], [[id], 1]);
        assert.deepEqual(await store.list(foreign, { limit: 10 }), { tasks: [], total: 0, more: false });
      }),
    );
    it(
      "has a place for a task whose status changes: the front",
      withStore(make, async (store) => {
        const heads = await fill(store, [10, 20, 30]);
        const [first] = heads;
        assert.ok(first !== undefined);
        await store.append(appendTo(first, status(WORKING, 40, 2)));
        assert.deepEqual(findPlaces(heads, (await store.list(alice, { limit: 10 })).tasks), [0, 2, 1]);
      }),
    );
  });
  filterTests({ describe, it }, make);
  pageTests({ describe, it }, make);
  sinceTests({ describe, it }, make);
}

function filterTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("a filter of a list", () => {
    const filters: Record<string, { readonly query: Omit<ListQuery, "limit">; readonly places: readonly number[] }> = {
      context: { query: { contextId: "even" }, places: [4, 2, 0] },
      state: { query: { state: WORKING }, places: [4, 3] },
      "time, inclusive": { query: { since: 30 }, places: [5, 4, 3, 2] },
      "context and state": { query: { contextId: "even", state: SUBMITTED }, places: [2, 0] },
      "context and time": { query: { contextId: "odd", since: 40 }, places: [5, 3] },
      "state and time": { query: { state: SUBMITTED, since: 20 }, places: [2, 1] },
      "all of them": { query: { contextId: "even", state: WORKING, since: 50 }, places: [4] },
      "a context that never was": { query: { contextId: "none" }, places: [] },
      "a state that no task has": { query: { state: TaskState.REJECTED }, places: [] },
      "a time to come": { query: { since: 61 }, places: [] },
      "a time just behind that of a task": { query: { since: 30.000_001 }, places: [5, 4, 3] },
      "a time just before that of a task": { query: { since: 29.999_999 }, places: [5, 4, 3, 2] },
      "state and a time with a fraction": { query: { state: SUBMITTED, since: 10.5 }, places: [2, 1] },
      "context and a time with a fraction": { query: { contextId: "odd", since: 20.5 }, places: [5, 3] },
    };
    for (const [what, { query, places }] of Object.entries(filters)) {
      it(
        `by ${what} lets those through, and counts them`,
        withStore(make, async (store) => {
          const heads = await fill(store, [10, 20, 30, 40, 50, 60], (index) => ({
            contextId: index % 2 === 0 ? "even" : "odd",
            state: [SUBMITTED, SUBMITTED, SUBMITTED, WORKING, WORKING][index] ?? COMPLETED,
          }));
          const page = await store.list(alice, { limit: 10, ...query });
          assert.deepEqual(findPlaces(heads, page.tasks), places);
          assert.deepEqual([page.total, page.more], [places.length, false]);
          const short = await store.list(alice, { limit: 1, ...query });
          assert.deepEqual(findPlaces(heads, short.tasks), places.slice(0, 1));
          assert.deepEqual([short.total, short.more], [places.length, places.length > 1]);
        }),
      );
    }
  });
}

function pageTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("pages of a list", () => {
    for (const query of [
      {},
      { contextId: "c" },
      { state: SUBMITTED },
      { contextId: "c", state: SUBMITTED, since: 0 },
    ]) {
      it(
        `by ${JSON.stringify(query)} hold every task once, among many of the same time`,
        withStore(make, async (store) => {
          const heads = await fill(
            store,
            Array.from({ length: 60 }, (_, index) => Math.floor(index / 20)),
          );
          assert.deepEqual(
            findPlaces(heads, await allPages(store, { ...query, limit: 7 }, 60)),
            heads.map((_, index) => 59 - index),
          );
        }),
      );
    }
    it(
      "end before the task that takes them over their size, and hold each task whole and once",
      withStore(make, async (store) => {
        // Two of these are more than a page, and each is more than what is small.
        const sizes = [300_000, 300_000, 1_000, 1_000, 900_000, 1_000];
        const heads: Head[] = [];
        for (const [index, size] of sizes.entries()) heads.push(await large(store, index, size));
        const query = { limit: 4, maxBytes: 500_000 };
        const tasks: StoredTask[] = [];
        const lengths: number[] = [];
        for (let after: ListQuery["after"], more = true; more; ) {
          const page = await store.list(alice, { ...query, after });
          assert.equal(page.total, sizes.length);
          tasks.push(...page.tasks);
          lengths.push(page.tasks.length);
          ({ more } = page);
          after = page.tasks.at(-1)?.head;
        }
        assert.deepEqual(lengths, [1, 1, 3, 1]);
        assert.deepEqual(findPlaces(heads, tasks), [5, 4, 3, 2, 1, 0]);
        assert.deepEqual(
          tasks.map(({ snapshot }) => snapshot?.task.id.length),
          sizes.toReversed(),
        );
      }),
    );
    for (const [statusTime, places] of [
      [19.5, [0]],
      [20.000_001, [2, 1, 0]],
      [30.5, [3, 2, 1, 0]],
    ] as const) {
      it(
        `continue behind ${statusTime}, a time with a fraction`,
        withStore(make, async (store) => {
          const heads = await fill(store, [10, 20, 20, 30]);
          for (const key of [0, 1e15]) {
            const page = await store.list(alice, { limit: 10, after: { statusTime, key } });
            assert.deepEqual(findPlaces(heads, page.tasks), places);
            assert.deepEqual([page.total, page.more], [4, false]);
          }
        }),
      );
    }
    it(
      "continue at the same place when the task of the cursor has moved to the front",
      withStore(make, async (store) => {
        const heads = await fill(store, [10, 20, 30, 40]);
        const first = await store.list(alice, { limit: 2 });
        const cursor = first.tasks.at(-1)?.head;
        assert.ok(cursor !== undefined);
        await store.append(appendTo(cursor, status(WORKING, 50, 2)));
        const rest = await store.list(alice, { limit: 2, after: cursor });
        assert.deepEqual(findPlaces(heads, rest.tasks), [1, 0]);
        assert.deepEqual([rest.total, rest.more], [4, false]);
      }),
    );
  });
}

const minuteMs = 60_000;
/** Minutes by which the status times of three tasks change, in turn. */
const moves = [50, -50, 0];
const stateAfter = (index: number): TaskState => {
  if (index % 2 === 0) return WORKING;
  return index % 5 === 0 ? SUBMITTED : COMPLETED;
};

/** A store may count tasks by time span, so these tasks spread over many spans and move between them. */
function sinceTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("a list since a time", () => {
    it(
      "says on every page how many there are, while tasks move between times and states over hours",
      withStore(make, async (store) => {
        const times = Array.from({ length: 24 }, (_, index) => (100 + index * 7) * minuteMs);
        const heads = await fill(store, times);
        const places = heads.map(({ state, statusTime }) => ({ state, statusTime }));
        await assertSince(store, places);
        for (const [index, head] of heads.entries()) {
          const place = places[index];
          // Later, earlier (which keeps the time as it is), or unchanged.
          const time = head.statusTime + (moves[index % 3] ?? 0) * minuteMs;
          const state = stateAfter(index);
          assert.equal(await store.append(appendTo(head, status(state, time, 2))), "stored");
          if (place !== undefined) Object.assign(place, { state, statusTime: Math.max(time, place.statusTime) });
          if (index % 8 === 7) await assertSince(store, places);
        }
      }),
    );
  });
}

/** Lists all pages since times about every half hour, in any state and in each. */
async function assertSince(store: TaskStore, places: readonly Pick<Head, "state" | "statusTime">[]): Promise<void> {
  for (let since = 89 * minuteMs; since < 330 * minuteMs; since += 31 * minuteMs) {
    for (const state of [undefined, SUBMITTED, WORKING, COMPLETED]) {
      const matching = places.filter((place) => place.statusTime >= since && (state ?? place.state) === place.state);
      assert.equal((await allPages(store, { since, state, limit: 10 }, matching.length)).length, matching.length);
    }
  }
}

/** Returns the tasks of all pages of a list. Each page must report the same total. */
async function allPages(store: TaskStore, query: ListQuery, total: number): Promise<StoredTask[]> {
  const tasks: StoredTask[] = [];
  for (let more = true; more; ) {
    const page = await store.list(alice, { ...query, after: tasks.at(-1)?.head });
    assert.equal(page.total, total);
    tasks.push(...page.tasks);
    ({ more } = page);
  }
  return tasks;
}

/** Creates a task per time. */
async function fill(
  store: TaskStore,
  times: readonly number[],
  more: (index: number) => { contextId: string; state: TaskState } = () => ({ contextId: "c", state: SUBMITTED }),
): Promise<Head[]> {
  const heads: Head[] = [];
  for (const [index, time] of times.entries()) {
    const { contextId, state } = more(index);
    heads.push(await store.create(newTask({ contextId, ...status(state, time, 1), status: { state, time } })));
  }
  return heads;
}

/** Creates a finished task at this time, whose snapshot takes so many bytes: nearly all of them in its id. */
async function large(store: TaskStore, time: number, bytes: number): Promise<Head> {
  const head = await store.create(newTask({ ...status(SUBMITTED, time, 1), status: { state: SUBMITTED, time } }));
  const task = { ...taskAt(2), id: "x".repeat(bytes) };
  await store.append(
    appendTo(head, { ...status(COMPLETED, time, 2), snapshot: { task, bytes }, end: { inboxPut: 0 } }),
  );
  return head;
}

function findPlaces(heads: readonly Head[], tasks: readonly { readonly head: Head }[]): number[] {
  return tasks.map(({ head }) => heads.findIndex(({ key }) => key === head.key));
}
