import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openBackend } from "./database.js";
import { alice, conversationRow } from "./rows.js";

const keep = { tasksMs: undefined, tasksMax: undefined, logsMs: undefined, sendsMs: 1e9 };

let opened: Awaited<ReturnType<typeof openBackend>>;
let now: number;

beforeEach(async () => {
  now = 10_000;
  opened = await openBackend(":memory:", () => now);
});
afterEach(() => opened.backend.close());

/** Prunes in batches of `limit` rows until nothing is left; returns the number of entries dropped by each batch. */
async function pruned(limit: number): Promise<number[]> {
  const batches: number[] = [];
  for (let more = true; more; ) {
    const dropped = await opened.backend.prune(keep, limit);
    batches.push(dropped.entries);
    more = dropped.more;
  }
  return batches;
}

function rowsOf(table: string): number {
  return Number(opened.database.prepare(`select count(*) as n from trivium_${table}`).get()?.["n"]);
}

describe("pruning conversations", () => {
  it("pruning conversations drops expired contexts, with their entries and state, in batches", async () => {
    const { backend } = opened;
    for (const contextId of ["old", "older"]) {
      for (let count = 0; count < 3; count++) {
        await backend.addToConversations([conversationRow({ contextId, expiresAt: 11_000 })]);
      }
      const value = { json: "1", version: "1" };
      const write = { name: "cart", replaces: undefined, value, usedAt: now, expiresAt: 11_000, maxBytes: 100 };
      expect(await backend.writeContextValue(alice, contextId, write)).toBe("stored");
    }
    await backend.addToConversations([conversationRow({ contextId: "for ever" })]);
    expect(await pruned(5)).toEqual([0, 0]);
    now = 11_000;
    expect((await pruned(5)).filter((entries) => entries > 0)).toEqual([5, 5, 2]);
    expect([rowsOf("contexts"), rowsOf("conversations"), rowsOf("context_values")]).toEqual([1, 2, 0]);
  });

  it("pruning conversations drops entries that are no longer shown, and counts the others", async () => {
    const { backend, database } = opened;
    for (let count = 0; count < 10; count++) await backend.addToConversations([conversationRow({ maxEntries: 4 })]);
    expect((await pruned(7)).reduce((sum, entries) => sum + entries)).toBe(16);
    expect(rowsOf("conversations")).toBe(4);
    expect(database.prepare("select last, dropped, bytes from trivium_contexts").get()).toMatchObject({
      last: 20,
      dropped: 16,
      bytes: 12,
    });
    const entries = await backend.readConversation(alice, "c", { limit: 10, maxBytes: 1_000 });
    expect(entries.map(({ number }) => number)).toEqual([17, 18, 19, 20]);
    expect(await pruned(7)).toEqual([0, 0]);
  });

  it("pruning conversations drops what was over its owner's bounds, unless something was said since", async () => {
    const { backend } = opened;
    for (const [index, contextId] of ["a", "b", "c"].entries()) {
      await backend.addToConversations([conversationRow({ contextId, usedAt: 1_000 + index })]);
    }
    expect(await backend.boundConversations(alice, { entries: 2, bytes: 1_000 })).toMatchObject({ entries: 2 });
    await backend.addToConversations([conversationRow({ contextId: "a", usedAt: 3_000 })]);
    await pruned(10);
    expect([rowsOf("contexts"), rowsOf("conversations")]).toEqual([2, 4]);
    const entries = await backend.readConversation(alice, "a", { limit: 10, maxBytes: 1_000 });
    expect(entries.map(({ number }) => number)).toEqual([3, 4]);
  });
});
