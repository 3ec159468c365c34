import { assertSkillId, namedSkill } from "../auth/named-skill.js";
import type { Service } from "../binding/service.js";
import type { TrustProxy } from "../card/proxy.js";
import type { RateStore } from "../core/ports.js";
import type { Clock } from "../protocol/async/clock.js";
import type { Logger } from "../protocol/logger.js";
import { suggestion } from "../protocol/nearest.js";
import { Slots } from "../protocol/slots.js";
import type { Counters } from "../rates/counters.js";
import { layeredCounters } from "../rates/layered-counters.js";
import { findLimit, joinTables, type LimitTable, limitTable } from "../rates/limits.js";
import { LocalCounters } from "../rates/local-counters.js";
import type { RateOptions } from "../rates/options.js";
import { type ChargingTurn, RatedCalls } from "../rates/rated-calls.js";
import { SharedCounters } from "../rates/shared-counters.js";
import { isAuthenticated } from "./authentication.js";
import { createNetworkReader } from "./network-reader.js";
import type { AgentOptions, BaseServerOptions } from "./options.js";

export type RateLimiterOptions = BaseServerOptions & Pick<AgentOptions, "agentId" | "tenants">;

interface CounterParts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Counts for all processes on a store. Default: this process counts for itself. */
  readonly rateStore?: RateStore | undefined;
}

export interface RateLimiterParts extends CounterParts {
  /** Ids of the card's skills. */
  readonly skills: readonly string[];
  /** Whether tasks run here. */
  readonly hasTasks: boolean;
  /** The limits of the server, which hold besides. Default: none. */
  readonly server?: ServerLimits | undefined;
  /** Distinguishes callers of the agent's own authentication from others on the server. Default: `""`. */
  readonly realm?: string | undefined;
}

/** Limits that the agents of a server have together. */
export interface ServerLimits {
  readonly table: LimitTable;
  readonly limitsAddresses: boolean;
  /** Of the streams. */
  readonly slots: Slots;
  readonly skillOf: RateOptions["skillOf"];
  /** Counts for all agents. `shared`: for all processes on the store. */
  counters(rateStore: RateStore | undefined): Counters;
  /** Counts what callers ask of the server itself, with their calls of the agents. */
  calls(rateStore: RateStore | undefined, trustProxy: TrustProxy | undefined): NonNullable<Service["rates"]>;
}

/** Rate limits, as a host and an agent use them. */
export interface RateLimiter {
  readonly calls: Service["rates"];
  charge(turn: ChargingTurn, tokens: number): Promise<{ readonly left: number }>;
}

/**
 * Creates the limits of the options; `undefined` when there are none. Throws a `TypeError` that lists how they
 * contradict the other options.
 */
export function createRateLimiter(options: RateLimiterOptions, parts: RateLimiterParts): RateLimiter | undefined {
  const { rate = {}, auth, agentId: agent = "", tenants = [] } = options;
  const { server, realm = "", skills } = parts;
  const agentTable = limitTable(rate);
  const table = server === undefined ? agentTable : joinTables(server.table, agentTable);
  const problems = [...contradictions(options, table, parts), ...unknownSkills(rate, skills)];
  if (problems.length > 0) throw new TypeError(problems.join("\n"));
  if (findLimit(table, () => true) === undefined) return undefined;
  const agentCounters = openCounters(parts, agent);
  const counters =
    server === undefined ? agentCounters : layeredCounters(server.counters(parts.rateStore), agentCounters);
  const skillOf = rate.skillOf ?? server?.skillOf ?? auth?.skillOf ?? namedSkill;
  const slots = server?.slots ?? new Slots();
  const callParts = { table, counters, slots, agent, realm, skillOf, checkSkill: chooseCheck(skillOf) };
  const calls = new RatedCalls({ ...callParts, tenants: new Set(tenants) });
  const limitsAddresses = findLimit(table, ({ callerKind }) => callerKind === "address") !== undefined;
  const readAddress = limitsAddresses ? createNetworkReader(options.trustProxy, parts.logger) : () => undefined;
  return { calls: (head) => calls.open(readAddress(head)), charge: (turn, tokens) => calls.charge(turn, tokens) };
}

/**
 * Creates the limits that the agents of a server have together; `undefined` when there are none. `skills`: those of all
 * agents. Throws a `TypeError` for a skill that none of them has.
 */
export function createServerLimits(
  { rate = {} }: BaseServerOptions,
  { skills, ...parts }: CounterParts & Pick<RateLimiterParts, "skills">,
): ServerLimits | undefined {
  const problems = unknownSkills(rate, skills);
  if (problems.length > 0) throw new TypeError(problems.join("\n"));
  const table = limitTable(rate, true);
  if (findLimit(table, () => true) === undefined) return undefined;
  let counters: Counters | undefined;
  const { skillOf = namedSkill } = rate;
  return {
    table,
    limitsAddresses: findLimit(table, ({ callerKind }) => callerKind === "address") !== undefined,
    slots: new Slots(),
    skillOf: rate.skillOf,
    counters(rateStore) {
      counters ??= openCounters({ ...parts, rateStore }, undefined);
      return counters;
    },
    calls(rateStore, trustProxy) {
      const { slots } = this;
      const skillParts = { skillOf, checkSkill: chooseCheck(skillOf) };
      const callParts = { table, slots, ...skillParts, agent: "", realm: "", tenants: new Set<string>() };
      const calls = new RatedCalls({ ...callParts, counters: this.counters(rateStore) });
      const readAddress = createNetworkReader(trustProxy, parts.logger);
      return (head) => calls.open(readAddress(head));
    },
  };
}

/** Checks the `skillId` that the default `skillOf` reads. A custom function accepts any form. */
function chooseCheck(skillOf: typeof namedSkill): typeof assertSkillId | undefined {
  return skillOf === namedSkill ? assertSkillId : undefined;
}

/** Counts here, and with other processes on the store where it can. */
function openCounters({ clock, logger, rateStore }: CounterParts, scope: string | undefined): Counters {
  const local = new LocalCounters(clock);
  return rateStore === undefined ? local : new SharedCounters({ store: rateStore, scope, local, clock, logger });
}

/** Limits that contradict each other, each with a sentence that says what to change. */
function contradictions(
  options: RateLimiterOptions,
  table: LimitTable,
  { hasTasks }: RateLimiterParts,
): readonly string[] {
  const { tenants = [] } = options;
  const isOpen = !isAuthenticated(options);
  const problem = (applies: boolean, of: Parameters<typeof findLimit>[1], text: string): readonly string[] => {
    const limit = applies ? findLimit(table, of) : undefined;
    return limit === undefined ? [] : [`rate.${limit.path} ${text}`];
  };
  return [
    ...problem(
      isOpen,
      ({ callerKind }) => callerKind === "owner",
      "needs `auth` or `authenticate`: without them all callers are one owner; limit `all` or `address`",
    ),
    ...problem(
      isOpen && tenants.length === 0,
      ({ callerKind }) => callerKind === "tenant",
      "needs `auth`, `authenticate` or `tenants`: there are no tenants",
    ),
    ...problem(
      !hasTasks,
      ({ resource }) => ["tasks", "tokens", "turns"].includes(resource),
      "is for an agent that runs here: limit tasks where they run",
    ),
  ];
}

function unknownSkills(rate: RateOptions, skills: readonly string[]): readonly string[] {
  return Object.keys(rate.skills ?? {})
    .filter((id) => !skills.includes(id))
    .map((id) => `rate.skills.${id} is not a skill of the card: ${suggestion(id, skills)}`);
}
