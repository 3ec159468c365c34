import type { Effort, Figures, Probe, Row, Side } from "./row.ts";

/** Starts the sides of a row, measures them in turn (floor, ours, peer, floor, …), and keeps the best of each. */
export async function runRow(row: Row, wanted: readonly Side[], effort: Effort): Promise<Figures> {
  await using running = new AsyncDisposableStack();
  const probes = new Map<Side, Probe>();
  for (const side of wanted) {
    const start = row.start[side];
    if (start) probes.set(side, running.use(await start()));
  }
  const best = new Map<Side, number>();
  for (let round = 0; round < effort.rounds; round++) {
    for (const [side, probe] of probes) {
      if (round >= (row.maxRounds?.[side] ?? effort.rounds)) continue;
      best.set(side, Math.min(best.get(side) ?? Number.POSITIVE_INFINITY, await probe.measure()));
    }
  }
  return Object.fromEntries(best);
}
