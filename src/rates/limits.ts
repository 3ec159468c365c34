import { A2AError } from "../protocol/errors.js";
import type { BudgetLimits, CallerLimits, CallLimits, RateOptions, Rates } from "./options.js";
import { type ReadRate, readRate } from "./rate.js";

// The options as lists of limits: which caller, which calls, what, and how much.

/** Which calls a limit counts together: those of an owner, a tenant or an address, or all. */
export type CallerKind = "owner" | "tenant" | "address" | "all";

interface LimitName {
  /** Where the option is, below `rate`: `owner.requests`. */
  readonly path: string;
  /** Distinguishes the limit among all that hold for a call: the path, and `server.` before it if all agents share it. */
  readonly name: string;
  /** Whether it counts the calls of all agents of a server together. */
  readonly ofServer: boolean;
  readonly callerKind: CallerKind;
  /** The end of its error text: ` for listTasks`. */
  readonly scopeText: string;
}

/** A limit of the use in a window. */
export interface WindowLimit extends LimitName, ReadRate {
  readonly resource: "requests" | "tasks" | "bytes" | "tokens";
}

/** A limit of concurrent turns or streams. */
export interface ConcurrencyLimit extends LimitName {
  readonly resource: "turns" | "streams";
  readonly max: number;
}

/** The limits that hold for the same calls. */
export interface LimitGroup {
  readonly windows: readonly WindowLimit[];
  readonly concurrency: readonly ConcurrencyLimit[];
}

export interface LimitTable {
  readonly general: LimitGroup;
  readonly operations: ReadonlyMap<string, LimitGroup>;
  readonly skills: ReadonlyMap<string, LimitGroup>;
}

type AnyLimits = CallerLimits<CallLimits & BudgetLimits>;

/** `ofServer`: whether they are the limits of a server of several agents. */
export function limitTable({ operations = {}, skills = {}, ...general }: RateOptions, ofServer = false): LimitTable {
  const createGroup = (path: string, scopeText: string, limits: AnyLimits) =>
    groupIn({ path, scopeText, ofServer }, limits);
  return {
    general: createGroup("", "", general),
    operations: createGroupMap(operations, (name, limits) =>
      createGroup(`operations.${name}.`, ` for ${name}`, limits),
    ),
    skills: createGroupMap(skills, (id, limits) => createGroup(`skills.${id}.`, ` for the skill ${id}`, limits)),
  };
}

/** The limits of two tables, which hold together. */
export function joinTables(one: LimitTable, other: LimitTable): LimitTable {
  const join = (a: LimitGroup | undefined, b: LimitGroup | undefined): LimitGroup => ({
    windows: [...(a?.windows ?? []), ...(b?.windows ?? [])],
    concurrency: [...(a?.concurrency ?? []), ...(b?.concurrency ?? [])],
  });
  const joinMaps = (a: LimitTable["skills"], b: LimitTable["skills"]) =>
    new Map([...a.keys(), ...b.keys()].map((name) => [name, join(a.get(name), b.get(name))]));
  return {
    general: join(one.general, other.general),
    operations: joinMaps(one.operations, other.operations),
    skills: joinMaps(one.skills, other.skills),
  };
}

function createGroupMap<T extends object>(
  options: Readonly<Record<string, T | undefined>>,
  make: (name: string, of: T) => LimitGroup,
) {
  const entries = Object.entries(options).flatMap(([name, of]) =>
    of === undefined ? [] : [[name, make(name, of)] as const],
  );
  return new Map(entries);
}

const callers: readonly CallerKind[] = ["owner", "tenant", "address", "all"];

function groupIn(
  { path: above, scopeText, ofServer }: Pick<LimitName, "path" | "scopeText" | "ofServer">,
  limits: AnyLimits,
): LimitGroup {
  const windows: WindowLimit[] = [];
  const concurrency: ConcurrencyLimit[] = [];
  const nameParts = (path: string) => ({ path, name: ofServer ? `server.${path}` : path, scopeText, ofServer });
  for (const callerKind of callers) {
    for (const resource of ["requests", "tasks", "bytes", "tokens"] as const) {
      for (const [rate, suffix] of listRates(limits[callerKind]?.[resource])) {
        windows.push({ ...nameParts(`${above}${callerKind}.${resource}${suffix}`), callerKind, resource, ...rate });
      }
    }
    for (const resource of ["turns", "streams"] as const) {
      const max = limits[callerKind]?.[resource];
      if (max !== undefined)
        concurrency.push({ ...nameParts(`${above}${callerKind}.${resource}`), callerKind, resource, max });
    }
  }
  return { windows, concurrency };
}

function listRates(rates: Rates | undefined): readonly (readonly [ReadRate, string])[] {
  if (rates === undefined) return [];
  return isList(rates) ? rates.map((rate, index) => [readRate(rate), `[${index}]`] as const) : [[readRate(rates), ""]];
}

function isList(rates: Rates): rates is Extract<Rates, readonly unknown[]> {
  return Array.isArray(rates);
}

/** The first limit of a table that is of a kind. */
export function findLimit(
  { general, operations, skills }: LimitTable,
  matches: (limit: WindowLimit | ConcurrencyLimit) => boolean,
): WindowLimit | ConcurrencyLimit | undefined {
  const groups = [general, ...operations.values(), ...skills.values()];
  return groups.flatMap(({ windows, concurrency }) => [...windows, ...concurrency]).find(matches);
}

const callerTexts: Readonly<Record<CallerKind, string>> = {
  owner: "of this caller",
  tenant: "of this tenant",
  address: "from this address",
  all: "of all callers",
};

const nouns = { requests: "requests", tasks: "new tasks", bytes: "bytes", turns: "turns", streams: "open streams" };

/** The error for a caller that has used up a window. */
export function overLimit(limit: WindowLimit, retryAfterMs: number): A2AError {
  return refusal(limit, limit.text, retryAfterMs);
}

/** The error for a caller with too many turns or streams. */
export function overConcurrency(limit: ConcurrencyLimit): A2AError {
  return refusal(limit, limit.max, 1000);
}

function refusal(source: WindowLimit | ConcurrencyLimit, limit: string | number, retryAfterMs: number) {
  const { path, ofServer, callerKind, resource, scopeText } = source;
  const caller = callerTexts[callerKind] + scopeText;
  const option = `${ofServer ? "server." : ""}rate.${path}`;
  return new A2AError(
    "resourceExhausted",
    resource === "tokens"
      ? `the token budget ${caller} is used up: the limit is ${limit} (${option})`
      : `too many ${nouns[resource]} ${caller}: the limit is ${limit} (${option})`,
    { retryAfterMs, metadata: { limit: option } },
  );
}
