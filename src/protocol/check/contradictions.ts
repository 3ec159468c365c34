import type { Rule } from "./rules.js";

// Options that are valid one by one and cannot work together. Each group of options has a table of them.

type Given = Readonly<Record<string, unknown>>;

/** Says how given options contradict each other, and what to change; `undefined` when they agree. */
export type Contradiction = (given: Given, path: string) => string | undefined;

/** Two options that depend on each other: `factor` times the lower one must not be above the upper one. */
export interface OptionPair {
  readonly lower: string;
  readonly upper: string;
  /** Default: 1. */
  readonly factor?: number | undefined;
  /** The consequence, if it were allowed. */
  readonly why: string;
}

/** Holds options to the rule of each, and then to what they may be together. */
export const withContradictions = (rule: Rule, contradictions: readonly Contradiction[]): Rule => {
  return (value, path) => {
    const problems = rule(value, path);
    return problems.length > 0 ? problems : contradictionsIn(contradictions, value as Given, path);
  };
};

/** A sentence for each contradiction in valid options. */
export function contradictionsIn(
  contradictions: readonly Contradiction[],
  given: Given,
  path: string,
): readonly string[] {
  return contradictions.map((contradiction) => contradiction(given, path)).filter((problem) => problem !== undefined);
}

/** The lower one of a pair is too large for the upper one. */
export const exceeds = ({ lower, upper, factor = 1, why }: OptionPair): Contradiction => {
  return (given, path) => {
    const [less, more] = [given[lower], given[upper]];
    if (typeof less !== "number" || typeof more !== "number" || less * factor <= more) return undefined;
    const bound = factor === 1 ? `above ${upper} (${more})` : `above a ${ordinals[factor]} of ${upper} (${more})`;
    return `${at(path, lower)} (${less}) is ${bound}: ${why}. Set ${lower} to at most ${more / factor}, or ${upper} to at least ${less * factor}`;
  };
};

/** An option is given without another one, and so has no effect. */
export const lacks = (name: string, needed: string): Contradiction => {
  return (given, path) =>
    given[name] === undefined || given[needed] !== undefined
      ? undefined
      : `${at(path, name)} has no effect without ${needed}: set that too`;
};

function at(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

const ordinals: Readonly<Record<number, string>> = { 2: "half", 3: "third" };
