import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AppendRow } from "../../../src/store/sql/rows.js";
import { createHotPath } from "../../../src/store/sqlite/flush.js";
import type { HotWrite } from "../../../src/store/sqlite/packed.js";
import { tries } from "../../support/tries.js";
import { openBackend } from "./database.js";
import { alice, appendRow, completion, conversationRow, logRow, taskRow } from "./rows.js";

const now = 5_000_000;

async function openHot() {
  const opened = await openBackend(":memory:", () => now);
  return { ...opened, hot: createHotPath(opened.connection, () => now) };
}

type Opened = Awaited<ReturnType<typeof openHot>>;

/** Everything the two writes touch, except the mark of the task's creator. */
function contents({ database }: Opened) {
  const tasks = database.prepare("select * from trivium_tasks order by key").all();
  const all = (table: string, order: string) => database.prepare(`select * from ${table} order by ${order}`).all();
  return {
    tasks: tasks.map(({ incarnation: _, ...task }) => task),
    log: all("trivium_log", "key, seq"),
    snapshots: all("trivium_snapshots", "key"),
    counts: all("trivium_counts", "1, 2, 3").filter(({ count }) => count !== 0),
    periods: all("trivium_periods", "1, 2, 3, 4").filter(({ count }) => count !== 0),
    contexts: all("trivium_contexts", "key"),
    conversations: all("trivium_conversations", "context, number"),
  };
}

const step = fc.record({
  task: fc.nat(5),
  owner: fc.constantFrom("alice", "bob"),
  state: fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined }),
  time: fc.nat(3_000_000),
  end: fc.boolean(),
  snapshot: fc.boolean(),
  stale: fc.boolean(),
  context: fc.option(fc.constantFrom("c", "d"), { nil: undefined }),
  besides: fc.boolean(),
});

/** The writes of some turns. The keys of new tasks are those of an empty database. */
function writesOf(steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[]): HotWrite[] {
  const places = new Map<number, { key: number; epoch: number; seq: number }>();
  return steps.map(({ task, owner, state, time, end, snapshot, stale, context: contextId, besides }): HotWrite => {
    const scope = { agent: "", tenant: "", owner };
    const conversation = contextId === undefined ? undefined : conversationRow({ scope, contextId });
    if (besides && conversation !== undefined) return { kind: "conversations", rows: [conversation, conversation] };
    const context = places.get(task);
    const status = state === undefined ? undefined : { state, time };
    const body = {
      end: end ? { inboxPut: 0 } : undefined,
      snapshot: snapshot ? { ...logRow(1) } : undefined,
      conversation,
    };
    if (context === undefined) {
      places.set(task, { key: places.size + 1, epoch: 1, seq: 1 });
      return { kind: "create", row: taskRow(`t${task}`, { scope, ...body, ...(status && { status }) }) };
    }
    const row = appendRow({ ...context, seq: context.seq + (stale ? 3 : 0) }, { status, ...body });
    if (!stale) places.set(task, { ...context, seq: context.seq + 1 });
    return { kind: "append", row };
  });
}

function byItself(backend: Opened["backend"], write: HotWrite): Promise<unknown> {
  if (write.kind === "conversations") return backend.addToConversations(write.rows);
  if (write.kind === "append") return backend.append(write.row);
  return backend.create(write.row).then(({ key, holderLive }) => ({ key, holderLive }));
}

describe("writes of a group", () => {
  it("writes of a group leave and return the same as each write alone", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 12 }), { maxLength: 6 }), async (groups) => {
        const together = await openHot();
        const alone = await openHot();
        const writes = writesOf(groups.flat());
        let at = 0;
        for (const { length } of groups) {
          const group = writes.slice(at, at + length);
          at += length;
          const results = await together.hot.run(group);
          for (const [context, write] of group.entries()) {
            const one = await byItself(alone.backend, write);
            expect(results[context]).toEqual(typeof one === "object" ? expect.objectContaining(one as object) : one);
          }
        }
        expect(contents(together)).toEqual(contents(alone));
        await together.backend.close();
        await alone.backend.close();
      }),
      { numRuns: tries(20, 60) },
    );
  });

  it("writes of a group are all undone when one throws, the counters with them", async () => {
    const opened = await openHot();
    const { hot, backend } = opened;
    await hot.run([{ kind: "create", row: taskRow("t") }]);
    const before = contents(opened);
    const append = (changes: Partial<AppendRow>): HotWrite => ({
      kind: "append",
      row: appendRow({ key: 1, epoch: 1, seq: 1 }, changes),
    });
    const broken = [
      { kind: "create", row: taskRow("u") },
      append(completion(2, 2_000)),
      { kind: "create", row: taskRow("t") },
    ] as const;
    await expect(hot.run(broken)).rejects.toThrow("a task with the id t exists");
    expect(contents(opened)).toEqual(before);
    await hot.run(broken.slice(0, 2));
    expect((await backend.list(alice, { state: 3, limit: 5 })).total).toBe(1);
    expect((await backend.list(alice, { limit: 5 })).total).toBe(2);
    await backend.close();
  });
});
