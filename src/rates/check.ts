import {
  func,
  type Member,
  type MembersOf,
  object,
  type Rule,
  record,
  valueOr,
  whole,
} from "../protocol/check/rules.js";
import { isObject } from "../protocol/kinds.js";
import { nearest } from "../protocol/nearest.js";
import { operations } from "../protocol/operations.js";
import type { BudgetLimits, CallerLimits, CallLimits, RateOptions, TurnLimits } from "./options.js";
import { windows } from "./rate.js";

// The rules for `rate`.

const windowNames = Object.keys(windows);

/** The longest window of a custom rate. */
const longestWindowMs = 24 * 24 * 3_600_000;

const windowMs: Rule = (value, path) => {
  const problems = whole(1)(value, path);
  if (problems.length > 0 || Number(value) <= longestWindowMs) return problems;
  return [`${path} must be at most ${longestWindowMs}, which is 24 days, not ${String(value)}`];
};

const custom = object({
  limit: { rule: whole(1), missing: "say how much a window has" },
  windowMs: { rule: windowMs, missing: "say how long a window is, in milliseconds" },
});

const rate: Rule = (value, path) => {
  if (isObject(value)) return custom(value, path);
  const prefix = `${path} must be a rate such as "600/minute" or { limit: 600, windowMs: 60000 }`;
  if (typeof value !== "string")
    return [`${prefix}, not ${value === null ? "null" : `a value of type ${typeof value}`}`];
  const [limit = "", window = "", more] = value.split("/");
  const isLimit = whole(1)(limit === "" ? undefined : Number(limit), path).length === 0;
  if (isLimit && more === undefined && windowNames.includes(window)) return [];
  const near = nearest(window, windowNames);
  const advice = isLimit && near !== undefined ? `: did you mean "${limit}/${near}"?` : "";
  return [`${prefix}, not ${JSON.stringify(value.slice(0, 80))}${advice}`];
};

const rates: Rule = (value, path) => {
  if (!Array.isArray(value)) return rate(value, path);
  if (value.length === 0) return [`${path} is empty: give at least one rate, or leave it out`];
  return value.flatMap((each, index) => rate(each, `${path}[${index}]`));
};

const call: MembersOf<CallLimits> = {
  requests: { rule: rates },
  bytes: { rule: rates },
  streams: { rule: whole(1) },
};
const turn: MembersOf<TurnLimits> = { ...call, tasks: { rule: rates }, turns: { rule: whole(1) } };
const budget: MembersOf<BudgetLimits> = { ...turn, tokens: { rule: rates } };
const noBudget = { tokens: "an agent charges owners: a turn that runs again elsewhere has no address" };
const noTasks = { tasks: "limit them in all, or for a skill", turns: "limit them in all, or for a skill" };

const byCaller = (limits: Member, address: Member): MembersOf<CallerLimits<CallLimits>> => {
  return { owner: limits, tenant: limits, address, all: limits };
};
const ofCalls: Member = { rule: object(call, { ...noTasks, tokens: noTasks.tasks }) };
const ofTurns = byCaller({ rule: object(budget) }, { rule: object(turn, noBudget) });
const anyOperation = Object.fromEntries(
  operations.map(({ name }) => [name, { rule: object(byCaller(ofCalls, ofCalls)) }]),
);

/** The rules for the members of `rate`. */
export const rateMembers: MembersOf<RateOptions> = {
  ...ofTurns,
  operations: { rule: object(anyOperation) },
  skills: { rule: record(object(ofTurns)) },
  skillOf: { rule: func },
  failedAttempts: { rule: valueOr(false, rate) },
};
