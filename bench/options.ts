import { parseArgs } from "node:util";
import { leastRounds } from "./interval.ts";
import { type Effort, type Subject, subjects } from "./row.ts";

/** What a run of the benchmarks is asked for. */
export interface Options {
  /** Which rows, by their names. */
  readonly filter: RegExp;
  /** Which sides of them. */
  readonly sides: readonly Subject[];
  /** The `dist` folder of the build to compare with. */
  readonly before?: string;
  readonly effort: Effort;
}

/** Two and five rounds show a ratio. An interval as narrow as a few percent takes twelve, each order of the sides six times. */
const defaultRounds = { alone: { quick: 2, full: 5 }, beside: { quick: leastRounds, full: 12 } };

/** Reads the arguments of `bench/run.ts`; throws when they contradict each other. */
export function optionsOf(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      filter: { type: "string", default: "" },
      sides: { type: "string" },
      rounds: { type: "string" },
      quick: { type: "boolean", default: false },
      before: { type: "string" },
    },
  });
  const { before, quick } = values;
  const beside = before !== undefined;
  const standard = defaultRounds[beside ? "beside" : "alone"][quick ? "quick" : "full"];
  const rounds = Number(values.rounds ?? standard);
  const least = beside ? leastRounds : 1;
  if (!Number.isInteger(rounds) || rounds < least) {
    throw new Error(`--rounds ${values.rounds}: a whole number of ${least} or more is wanted`);
  }
  return {
    filter: new RegExp(values.filter, "i"),
    sides: sidesOf(values.sides ?? (beside ? "ours,before" : "floor,ours,peer,go"), beside),
    ...(beside ? { before } : {}),
    effort: { rounds, quick },
  };
}

function sidesOf(text: string, beside: boolean): readonly Subject[] {
  const names = new Set(text.split(",").map((name) => name.trim()));
  const unknownName = [...names].find((name) => !subjects.some((subject) => subject === name));
  if (unknownName !== undefined) throw new Error(`--sides ${unknownName}: the sides are ${subjects.join(", ")}`);
  if (names.has("before") && !beside)
    throw new Error("--sides before: name the build to compare with by --before DIST");
  return subjects.filter((subject) => names.has(subject) || (beside && (subject === "ours" || subject === "before")));
}
