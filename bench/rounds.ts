import { leastRounds, ratioOf } from "./interval.ts";
import {
  BeforeRefused,
  type Effort,
  type Figures,
  type PerSubject,
  type Probe,
  type Row,
  type Subject,
  subjects,
} from "./row.ts";

/** The figures of a round, one for each slice. */
type Round = ReadonlyMap<Subject, readonly number[]>;

/**
 * Measures the sides of a row in rounds. Each round starts them anew, since two processes that run the same code differ from
 * each other by more than two rounds of one process do, and the interval of a ratio must cover both. Within a round the
 * sides take turns slice by slice, forwards and backwards (A B, B A, A B, …): when the speed of the machine changes, it
 * changes for all of them. Every other round begins with the other side. The ratio of a round is that of its slices.
 *
 * An older build may lack what a row needs, which is no fault of ours: the row is then measured without `before`.
 */
export async function runRow(row: Row, sides: readonly Subject[], effort: Effort): Promise<Figures> {
  try {
    return await measureRow(row, sides, effort);
  } catch (error) {
    if (!(error instanceof BeforeRefused)) throw error;
    const others = sides.filter((subject) => subject !== "before");
    return { ...(await measureRow(row, others, effort)), noBefore: error.message };
  }
}

async function measureRow(row: Row, sides: readonly Subject[], effort: Effort): Promise<Figures> {
  const measurable = sides.filter((subject) => row.start[subject] !== undefined);
  const limits = limitsOf(row, measurable);
  const rounds: Round[] = [];
  for (let round = 0; round < effort.rounds; round++) {
    const due = measurable.filter((subject) => round < (limits[subject] ?? effort.rounds));
    if (due.length === 0) break;
    rounds.push(await runRound(row, round % 2 === 0 ? due : due.toReversed()));
  }
  return {
    ...eachSubject((subject) => best(rounds, subject)),
    over: eachSubject((subject) => (subject === "ours" ? undefined : ratioOf(ratiosOver(rounds, subject)))),
  };
}

/** How many rounds a side has at most. Beside `before`, ours has at least as many as an interval takes. */
function limitsOf({ maxRounds = {} }: Row, measurable: readonly Subject[]): PerSubject<number> {
  if (maxRounds.ours === undefined || !measurable.includes("before")) return maxRounds;
  const comparedRounds = Math.max(maxRounds.ours, leastRounds);
  return { ...maxRounds, ours: comparedRounds, before: comparedRounds };
}

async function runRound(row: Row, due: readonly Subject[]): Promise<Round> {
  await using servers = new AsyncDisposableStack();
  const probes: (readonly [Subject, Probe])[] = [];
  for (const subject of due) {
    const probe = await row.start[subject]?.();
    if (probe) probes.push([subject, servers.use(probe)]);
  }
  const samples = new Map(probes.map(([subject]): [Subject, number[]] => [subject, []]));
  const slices = Math.max(...probes.map(([, probe]) => probe.slices ?? 1));
  for (let slice = 0; slice < slices; slice++) {
    for (const [subject, probe] of slice % 2 === 0 ? probes : probes.toReversed()) {
      if (slice < (probe.slices ?? 1)) samples.get(subject)?.push(await probe.measure());
    }
  }
  return samples;
}

function eachSubject<T>(of: (subject: Subject) => T | undefined): PerSubject<T> {
  const values = subjects.map((subject) => [subject, of(subject)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/** The figure of the best round, which is the mean of its slices. */
function best(rounds: readonly Round[], subject: Subject): number | undefined {
  const means = rounds.flatMap((round) => {
    const figures = round.get(subject) ?? [];
    return figures.length === 0 ? [] : [figures.reduce((sum, figure) => sum + figure, 0) / figures.length];
  });
  return means.length === 0 ? undefined : Math.min(...means);
}

/** Ours as a multiple of another side, in each round in which both were measured. */
function ratiosOver(rounds: readonly Round[], base: Subject): readonly number[] {
  return rounds.flatMap((round) => {
    const baseSamples = round.get(base) ?? [];
    const ratios = (round.get("ours") ?? []).flatMap((figure, slice) => {
      const baseSample = baseSamples[slice % baseSamples.length];
      // Figures of 0 have no ratio.
      return baseSample === undefined || figure <= 0 || baseSample <= 0 ? [] : [figure / baseSample];
    });
    return ratioOf(ratios)?.ratio ?? [];
  });
}
