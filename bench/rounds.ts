import { type Effort, type Figures, type Probe, type Row, type Side, sides } from "./row.ts";

type Measured = ReadonlyMap<Side, number>;

/**
 * Starts the sides of a row and measures them in turn (floor, ours, peer; peer, ours, floor; …). Keeps the best of each
 * side. How ours stands to another is the median over the rounds in which both were measured, one right behind the other:
 * a machine whose speed changes meanwhile changes both.
 */
export async function runRow(row: Row, wanted: readonly Side[], effort: Effort): Promise<Figures> {
  await using running = new AsyncDisposableStack();
  const probes: (readonly [Side, Probe])[] = [];
  for (const side of wanted) {
    const start = row.start[side];
    if (start) probes.push([side, running.use(await start())]);
  }
  const rounds: Measured[] = [];
  for (let round = 0; round < effort.rounds; round++) {
    const measured = new Map<Side, number>();
    for (const [side, probe] of round % 2 === 0 ? probes : probes.toReversed()) {
      if (round < (row.maxRounds?.[side] ?? effort.rounds)) measured.set(side, await probe.measure());
    }
    rounds.push(measured);
  }
  return { ...eachSide((side) => best(rounds, side)), over: eachSide((side) => ratio(rounds, side)) };
}

function eachSide(figure: (side: Side) => number | undefined): Partial<Record<Side, number>> {
  const figures = sides.map((side) => [side, figure(side)] as const);
  return Object.fromEntries(figures.filter(([, value]) => value !== undefined));
}

function best(rounds: readonly Measured[], side: Side): number | undefined {
  const values = rounds.flatMap((measured) => measured.get(side) ?? []);
  return values.length === 0 ? undefined : Math.min(...values);
}

function ratio(rounds: readonly Measured[], side: Side): number | undefined {
  const ratios = rounds.flatMap((measured) => {
    const [ours, base] = [measured.get("ours"), measured.get(side)];
    return ours === undefined || base === undefined || base === 0 ? [] : [ours / base];
  });
  const inOrder = ratios.toSorted((a, b) => a - b);
  const middle = inOrder.length >> 1;
  const [upper, lower] = [inOrder[middle], inOrder[middle - 1]];
  return inOrder.length % 2 === 1 || upper === undefined || lower === undefined ? upper : (upper + lower) / 2;
}
