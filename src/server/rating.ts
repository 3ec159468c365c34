import { namedSkill } from "../auth/named-skill.js";
import type { Service } from "../binding/service.js";
import { callerNetwork } from "../card/proxy.js";
import type { RateStore } from "../core/ports.js";
import type { Clock } from "../protocol/async/clock.js";
import type { Logger } from "../protocol/logger.js";
import { suggestion } from "../protocol/nearest.js";
import { findLimit, type LimitTable, limitTable } from "../rates/limits.js";
import { LocalCounters, loadLimiters } from "../rates/local-counters.js";
import { type ChargingTurn, RatedCalls } from "../rates/rated-calls.js";
import { SharedCounters } from "../rates/shared-counters.js";
import { isAuthenticated } from "./guarded.js";
import type { AgentOptions, HostOptions } from "./options.js";

export type RatingOptions = HostOptions & Pick<AgentOptions, "agentId" | "tenants">;

export interface RatingParts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Counts for all processes on a store. Default: this process counts for itself. */
  readonly shared?: RateStore | undefined;
  /** Ids of the card's skills. */
  readonly skills: readonly string[];
  /** Whether tasks run here. */
  readonly hasTasks: boolean;
}

/** Limits by who is asking, as a host and an agent use them. */
export interface Rating {
  readonly calls: Service["rates"];
  charge(turn: ChargingTurn, tokens: number): Promise<{ readonly left: number }>;
}

/**
 * Creates the limits of the options; `undefined` when there are none. Throws a `TypeError` that lists how they contradict
 * the other options.
 */
export async function createRating(options: RatingOptions, parts: RatingParts): Promise<Rating | undefined> {
  const { rate = {}, auth, agentId: scope = "", tenants = [] } = options;
  const table = limitTable(rate);
  const problems = contradictions(options, table, parts);
  if (problems.length > 0) throw new TypeError(problems.join("\n"));
  if (findLimit(table, () => true) === undefined) return undefined;
  const { clock, logger, shared } = parts;
  const local = new LocalCounters(await loadLimiters(), clock);
  const counters = shared === undefined ? local : new SharedCounters({ store: shared, scope, local, clock, logger });
  const skillOf = rate.skillOf ?? auth?.skillOf ?? namedSkill;
  const calls = new RatedCalls({ table, counters, skillOf, tenants: new Set(tenants) });
  const addressOf = callerNetwork(options.trustProxy ?? false);
  return { calls: (head) => calls.open(addressOf(head)), charge: (turn, tokens) => calls.charge(turn, tokens) };
}

/** What cannot hold, each as a sentence that says what to change. */
function contradictions(
  options: RatingOptions,
  table: LimitTable,
  { skills, hasTasks }: RatingParts,
): readonly string[] {
  const { rate = {}, tenants = [] } = options;
  const isOpen = !isAuthenticated(options);
  const problem = (isSo: boolean, of: Parameters<typeof findLimit>[1], text: string): readonly string[] => {
    const limit = isSo ? findLimit(table, of) : undefined;
    return limit === undefined ? [] : [`rate.${limit.name} ${text}`];
  };
  return [
    ...problem(
      isOpen,
      ({ who }) => who === "owner",
      "needs `auth` or `authenticate`: without them all callers are one owner; limit `all` or `address`",
    ),
    ...problem(
      isOpen && tenants.length === 0,
      ({ who }) => who === "tenant",
      "needs `auth`, `authenticate` or `tenants`: there are no tenants",
    ),
    ...problem(
      !hasTasks,
      ({ what }) => ["tasks", "tokens", "turns"].includes(what),
      "is for an agent that runs here: limit tasks where they run",
    ),
    ...Object.keys(rate.skills ?? {})
      .filter((id) => !skills.includes(id))
      .map((id) => `rate.skills.${id} is no skill of the card: ${suggestion(id, skills)}`),
  ];
}
