import { Level, type LevelRule } from "./level.js";
import type { OverloadLimits, OverloadMeasure } from "./limits.js";
import type { Memories, MemoryGauge } from "./memory.js";

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

// What V8 has not returned yet counts as well, so that the part is high in a healthy process too.
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
