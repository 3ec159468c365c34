import { A2AError } from "../protocol/errors.js";
import type { BudgetLimits, CallerLimits, CallLimits, RateOptions, Rates } from "./options.js";
import { type ReadRate, readRate } from "./rate.js";

// The options as lists of limits: which caller, which calls, what, and how much.

/** Whom a limit counts together. */
export type CallerKind = "owner" | "tenant" | "address" | "all";

interface LimitName {
  /** Where the option is, below `rate`: `owner.requests`. */
  readonly path: string;
  /** Distinguishes the limit among all that hold for a call: the path, and `server.` before it if all agents share it. */
  readonly name: string;
  /** Whether it counts the calls of all agents of a server together. */
  readonly ofServer: boolean;
  readonly who: CallerKind;
  /** What it is about besides, for errors: ` for listTasks`. */
  readonly of: string;
}

/** A limit of what is used in a window. */
export interface WindowLimit extends LimitName, ReadRate {
  readonly what: "requests" | "tasks" | "bytes" | "tokens";
}

/** A limit of what is there at once. */
export interface PlaceLimit extends LimitName {
  readonly what: "turns" | "streams";
  readonly max: number;
}

/** The limits that hold for the same calls. */
export interface LimitGroup {
  readonly windows: readonly WindowLimit[];
  readonly places: readonly PlaceLimit[];
}

export interface LimitTable {
  readonly general: LimitGroup;
  readonly operations: ReadonlyMap<string, LimitGroup>;
  readonly skills: ReadonlyMap<string, LimitGroup>;
}

type AnyLimits = CallerLimits<CallLimits & BudgetLimits>;

/** `ofServer`: whether they are the limits of a server of several agents. */
export function limitTable({ operations = {}, skills = {}, ...general }: RateOptions, ofServer = false): LimitTable {
  const groupOf = (path: string, of: string, limits: AnyLimits) => groupIn({ path, of, ofServer }, limits);
  return {
    general: groupOf("", "", general),
    operations: mapOf(operations, (name, limits) => groupOf(`operations.${name}.`, ` for ${name}`, limits)),
    skills: mapOf(skills, (id, limits) => groupOf(`skills.${id}.`, ` for the skill ${id}`, limits)),
  };
}

/** The limits of two tables, which hold together. */
export function joinedTables(one: LimitTable, other: LimitTable): LimitTable {
  const joined = (a: LimitGroup | undefined, b: LimitGroup | undefined): LimitGroup => ({
    windows: [...(a?.windows ?? []), ...(b?.windows ?? [])],
    places: [...(a?.places ?? []), ...(b?.places ?? [])],
  });
  const joinedMaps = (a: LimitTable["skills"], b: LimitTable["skills"]) =>
    new Map([...a.keys(), ...b.keys()].map((name) => [name, joined(a.get(name), b.get(name))]));
  return {
    general: joined(one.general, other.general),
    operations: joinedMaps(one.operations, other.operations),
    skills: joinedMaps(one.skills, other.skills),
  };
}

function mapOf<T extends object>(
  given: Readonly<Record<string, T | undefined>>,
  make: (name: string, of: T) => LimitGroup,
) {
  const made = Object.entries(given).flatMap(([name, of]) =>
    of === undefined ? [] : [[name, make(name, of)] as const],
  );
  return new Map(made);
}

const callers: readonly CallerKind[] = ["owner", "tenant", "address", "all"];

function groupIn(
  { path: above, of, ofServer }: Pick<LimitName, "path" | "of" | "ofServer">,
  limits: AnyLimits,
): LimitGroup {
  const windows: WindowLimit[] = [];
  const places: PlaceLimit[] = [];
  const named = (path: string) => ({ path, name: ofServer ? `server.${path}` : path, of, ofServer });
  for (const who of callers) {
    for (const what of ["requests", "tasks", "bytes", "tokens"] as const) {
      for (const [rate, suffix] of listed(limits[who]?.[what])) {
        windows.push({ ...named(`${above}${who}.${what}${suffix}`), who, what, ...rate });
      }
    }
    for (const what of ["turns", "streams"] as const) {
      const max = limits[who]?.[what];
      if (max !== undefined) places.push({ ...named(`${above}${who}.${what}`), who, what, max });
    }
  }
  return { windows, places };
}

function listed(rates: Rates | undefined): readonly (readonly [ReadRate, string])[] {
  if (rates === undefined) return [];
  return isList(rates) ? rates.map((rate, index) => [readRate(rate), `[${index}]`] as const) : [[readRate(rates), ""]];
}

function isList(rates: Rates): rates is Extract<Rates, readonly unknown[]> {
  return Array.isArray(rates);
}

/** The first limit of a table that is of a kind. */
export function findLimit(
  { general, operations, skills }: LimitTable,
  isSought: (limit: WindowLimit | PlaceLimit) => boolean,
): WindowLimit | PlaceLimit | undefined {
  const groups = [general, ...operations.values(), ...skills.values()];
  return groups.flatMap(({ windows, places }) => [...windows, ...places]).find(isSought);
}

const whose: Readonly<Record<CallerKind, string>> = {
  owner: "of this caller",
  tenant: "of this tenant",
  address: "from this address",
  all: "of all callers",
};

const nouns = { requests: "requests", tasks: "new tasks", bytes: "bytes", turns: "turns", streams: "open streams" };

/** The error for a caller that has used up what a window has. */
export function overLimit(limit: WindowLimit, retryAfterMs: number): A2AError {
  return refusal(limit, limit.shown, retryAfterMs);
}

/** The error for a caller that has as many turns or streams as it may. */
export function overPlaces(limit: PlaceLimit): A2AError {
  return refusal(limit, limit.max, 1000);
}

function refusal(given: WindowLimit | PlaceLimit, limit: string | number, retryAfterMs: number) {
  const { path, ofServer, who, what, of } = given;
  const caller = whose[who] + of;
  const option = `${ofServer ? "server." : ""}rate.${path}`;
  return new A2AError(
    "resourceExhausted",
    what === "tokens"
      ? `the token budget ${caller} is used up: the limit is ${limit} (${option})`
      : `too many ${nouns[what]} ${caller}: the limit is ${limit} (${option})`,
    { retryAfterMs, metadata: { limit: option } },
  );
}
