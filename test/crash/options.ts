import { expect } from "vitest";
import type { Ledger } from "./ledger.js";

// `CRASH_KILLS` applies to each store and kind of agent. `CRASH_SEED` repeats the random choices of a failed run.

const inCi = process.env["CI"] === "true";

/** How often each server is killed. */
export const kills = Number(process.env["CRASH_KILLS"] ?? (inCi ? 52 : 8));
export const seed = Number(process.env["CRASH_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

/** Expects no faults, and enough activity to make that meaningful. */
export function expectWhole({ faults, tally, sent, tasks }: Ledger, restartable: boolean): void {
  const summary = `CRASH_SEED=${seed} CRASH_KILLS=${kills}\n${JSON.stringify(tally)}`;
  expect(faults.map((fault) => fault.slice(0, 4000)).slice(0, 20), summary).toEqual([]);
  expect(tally.kills, summary).toBeGreaterThanOrEqual(kills);
  const few = Object.entries({
    resumed: tally.resumed,
    replayed: tally.replayed,
    ended: restartable ? tally.runAgain : tally.takenOver,
    canceled: tally.canceled,
    followUps: tally.followUps,
    replies: tally.replies,
    repeats: tally.repeats,
    notifications: tally.notifications,
    tasks: tasks.size - kills,
  }).filter(([, count]) => count <= 0);
  expect(few, summary).toEqual([]);
  expect(tally.unanswered, summary).toBeLessThan(sent.length / 4);
}
