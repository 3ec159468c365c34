import type { OverloadLimits, OverloadMeasure } from "./limits.js";
import type { Memories, MemoryGauge } from "./memory.js";

/** When refusals begin and end, as parts of the limit. */
interface LevelRule {
  /** Refuses owners with more than their share. */
  readonly excess: LevelBounds;
  /** Refuses everyone. */
  readonly all: LevelBounds;
  /** Whether a single measurement begins a refusal. */
  readonly isUrgent: boolean;
  /** Whether a measurement is a duration. A duration of n times the limit counts as n measurements. */
  readonly isDuration?: boolean;
}

interface LevelBounds {
  readonly begins: number;
  readonly ends: number;
}

/** How many measurements in a row begin or end a refusal. Two durations suffice if they last as long together. */
const inARow = 5;
const leastInARow = 2;

/** Follows one measure and says whose sends it refuses. */
class Level {
  readonly #rule: LevelRule;
  /** The last measurements as parts of the limit: as many as are needed to begin or end a refusal. */
  #parts: readonly number[] = [];
  #isAll = false;
  #isExcess = false;
  /** The highest of the last measurements. */
  highest = 0;

  constructor(rule: LevelRule) {
    this.#rule = rule;
  }

  get refuses(): "none" | "excess" | "all" {
    if (this.#isAll) return "all";
    return this.#isExcess ? "excess" : "none";
  }

  /** Takes a measurement, 1 being the limit. */
  measure(part: number): void {
    const { excess, all } = this.#rule;
    const isFull = this.#remember(part);
    const lowest = Math.min(...this.#parts);
    this.highest = Math.max(...this.#parts);
    const holds = (was: boolean, { begins, ends }: LevelBounds): boolean =>
      was ? !isFull || this.highest >= ends : isFull && lowest >= begins;
    this.#isAll = holds(this.#isAll, all);
    this.#isExcess = holds(this.#isExcess, excess);
    this.measureBetween(part);
  }

  // Returns whether there are enough measurements to begin or end a refusal.
  #remember(part: number): boolean {
    const parts = [...this.#parts, part];
    let from = parts.length;
    let count = 0;
    while (from > 0 && (count < inARow || parts.length - from < leastInARow)) {
      from -= 1;
      count += this.#rule.isDuration === true ? Math.max(1, parts[from] ?? 0) : 1;
    }
    this.#parts = parts.slice(from);
    return count >= inARow && this.#parts.length >= leastInARow;
  }

  /** Takes a measurement between two others, which can only begin an urgent refusal. */
  measureBetween(part: number): void {
    this.highest = Math.max(this.highest, part);
    const { excess, all, isUrgent } = this.#rule;
    if (!isUrgent) return;
    this.#isExcess ||= part >= excess.begins;
    this.#isAll ||= part >= all.begins;
  }

  /** Forgets what was measured before a pause. */
  reset(): void {
    this.#parts = [];
  }
}

/** A measure beside its limit. */
export interface Measure {
  readonly name: OverloadMeasure;
  readonly max: number;
  readonly level: Level;
  /** Says how high it is, and what the limit is. */
  describe(): string;
}

/** A memory beside its limit. */
export interface MemoryMeasure extends Measure {
  readonly gauge: MemoryGauge;
}

const heapRule: LevelRule = {
  excess: { begins: 0.85, ends: 0.8 },
  all: { begins: 1, ends: 0.95 },
  isUrgent: true,
};

// Memory that V8 has freed but not returned counts too, so the share is high in a healthy process as well.
const containerRule: LevelRule = { ...heapRule, excess: { begins: 0.96, ends: 0.94 } };

const eventLoopRule: LevelRule = {
  excess: { begins: 0.5, ends: 0.4 },
  all: { begins: 1, ends: 0.8 },
  isUrgent: false,
  isDuration: true,
};

/** The event loop, unless it is not to be measured. */
export function createEventLoopMeasure({ eventLoopMaxMs: max }: OverloadLimits): Measure | undefined {
  if (max === false) return undefined;
  const level = new Level(eventLoopRule);
  const name = "eventLoopMaxMs";
  const describe = (): string =>
    `a round of the event loop takes ${Math.round(level.highest * max)} ms, the limit is ${max} ms (${name})`;
  return { name, max, level, describe };
}

/** The memories that exist and are to be measured. */
export function createMemoryMeasures(limits: OverloadLimits, { heap, container }: Memories): readonly MemoryMeasure[] {
  return [
    createMemoryMeasure("heapMaxRatio", limits.heapMaxRatio, heap),
    createMemoryMeasure("containerMaxRatio", limits.containerMaxRatio, container),
  ].filter((each) => each !== undefined);
}

const memories = {
  heapMaxRatio: { what: "the heap", rule: heapRule },
  containerMaxRatio: { what: "the container's memory", rule: containerRule },
};

function createMemoryMeasure(
  name: keyof typeof memories,
  max: number | false,
  gauge: MemoryGauge | undefined,
): MemoryMeasure | undefined {
  if (max === false || gauge === undefined) return undefined;
  const { what, rule } = memories[name];
  const level = new Level(rule);
  const describe = (): string =>
    `${percent(level.highest * max)} of ${what} is in use, the limit is ${percent(max)} (${name})`;
  return { name, max, level, gauge, describe };
}

const percent = (ratio: number): string => `${Math.round(ratio * 100)} %`;
