import { isObject, isRecord } from "../kinds.js";
import { nearest } from "../nearest.js";
import type { RenamedOptionName } from "./former-options.js";

// Rules for the options that a program gives, perhaps without TypeScript. Each reports every problem by path.

/** Problems of the value at `path` as sentences; empty when it is valid. The path of options themselves is "". */
export type Rule = (value: unknown, path: string) => readonly string[];

/** A member of an object. `missing` says what to write when it is absent; a member without it is optional. */
export interface Member {
  readonly rule: Rule;
  readonly missing?: string | undefined;
}

const noProblems: readonly string[] = [];

/** The members that an object of type `T` may have: a rule for each, so that none is forgotten. */
export type MembersOf<T> = { readonly [K in Exclude<keyof T, RenamedOptionName>]-?: Member };

/** An object with only these members; `hints` say what to do about other names that are often tried. */
export function object(members: Readonly<Record<string, Member>>, hints: Readonly<Record<string, string>> = {}): Rule {
  const names = Object.keys(members);
  const advice = (name: string): string => {
    if (Object.hasOwn(hints, name)) return `${hints[name]}`;
    const near = nearest(name, names);
    return near === undefined ? `take it out, or use one of ${names.join(", ")}` : `did you mean ${near}?`;
  };
  return (value, path) => {
    if (!isPlainObject(value)) return [`${path || "the options"} must be an object, not ${describeKind(value)}`];
    const unknownNames = Object.keys(value).filter(
      (name) => !Object.hasOwn(members, name) && value[name] !== undefined,
    );
    const at = (name: string): string => (path === "" ? name : `${path}.${name}`);
    return [
      ...Object.entries(members).flatMap(([name, member]) => memberProblems(member, value[name], at(name))),
      ...unknownNames.map((name) => `${at(name)} cannot be given: ${advice(name)}`),
    ];
  };
}

/** Throws a `TypeError` with every problem of the options of `entry`, such as `serve()`. */
export function assertOptions(entry: string, options: unknown, rule: Rule): void {
  const problems = rule(options, "");
  if (problems.length === 0) return;
  const [first] = problems;
  const problem =
    problems.length === 1 ? first : `${problems.length} problems:\n${problems.map((p) => `- ${p}`).join("\n")}`;
  throw new TypeError(`${entry}: ${problem}`);
}

/**
 * Asserts only that an object has no other members than these. For options that are used often, such as those of
 * events, whose values are checked later.
 */
export function createNameCheck<T>(entry: string, names: Readonly<Record<keyof T, true>>): (options: T) => void {
  const rule = object(Object.fromEntries(Object.keys(names).map((name) => [name, { rule: () => noProblems }])));
  return (options) => {
    for (const name in options) if (!Object.hasOwn(names, name)) assertOptions(entry, options, rule);
  };
}

function memberProblems({ rule, missing }: Member, value: unknown, path: string): readonly string[] {
  if (value !== undefined) return rule(value, path);
  return missing === undefined ? noProblems : [`${path} is missing: ${missing}`];
}

/** A list, which may be empty. */
export const entries = (rule: Rule): Rule => {
  return (value, path) =>
    Array.isArray(value)
      ? Array.from<unknown>(value).flatMap((entry, index) => rule(entry, `${path}[${index}]`))
      : [`${path} must be an array, not ${describeKind(value)}`];
};

/** An object whose members all follow one rule. */
export const record = (rule: Rule): Rule => {
  return (value, path) =>
    isPlainObject(value)
      ? Object.entries(value).flatMap(([name, entry]) =>
          entry === undefined ? noProblems : rule(entry, `${path}[${JSON.stringify(name)}]`),
        )
      : [`${path} must be an object, not ${describeKind(value)}`];
};

/** One of these words. */
export const oneOf = (...words: readonly string[]): Rule => {
  const choices = words.map((word) => JSON.stringify(word)).join(" or ");
  return (value, path) => {
    if (words.some((word) => word === value)) return noProblems;
    const near = typeof value === "string" ? nearest(value, words) : undefined;
    const advice = near === undefined ? "" : `: did you mean ${JSON.stringify(near)}?`;
    return [`${path} must be ${choices}, not ${show(value)}${advice}`];
  };
};

/** This value, or what the rule takes. */
export const valueOr = (other: unknown, rule: Rule): Rule => {
  return (value, path) =>
    value === other
      ? noProblems
      : rule(value, path).map((problem) => problem.replace(" must be ", ` must be ${other} or `));
};

export const func: Rule = (value, path) =>
  typeof value === "function" ? noProblems : [`${path} must be a function, not ${describeKind(value)}`];

/** An object with these methods; `description` names it for people. */
export const withMethods = (description: string, ...methods: readonly string[]): Rule => {
  return (value, path) => {
    const has = (name: string): boolean => isObject(value) && typeof value[name] === "function";
    const missing = methods.filter((name) => !has(name));
    if (missing.length === 0) return noProblems;
    const actual = isObject(value) ? `an object without ${missing.join(", ")}` : describeKind(value);
    return [`${path} must be ${description}, not ${actual}`];
  };
};

export const clock = withMethods("a clock with now() and after()", "now", "after");
export const logger = valueOr(false, withMethods("a logger such as pino's", "debug", "info", "warn", "error"));

/** A non-empty list without two entries of the same `key`. */
export function list(rule: Rule, key: (entry: unknown) => unknown = () => undefined): Rule {
  return (value, path) => {
    if (!Array.isArray(value)) return [`${path} must be an array, not ${describeKind(value)}`];
    if (value.length === 0) return [`${path} is empty: give at least one entry, or leave it out if it is optional`];
    const problems: string[] = [];
    const indexes = new Map<unknown, number>();
    for (const [index, entry] of Array.from<unknown>(value).entries()) {
      problems.push(...rule(entry, `${path}[${index}]`));
      const name = key(entry);
      const before = indexes.get(name);
      if (before !== undefined)
        problems.push(`${path}[${index}] repeats ${JSON.stringify(name)} of ${path}[${before}]`);
      else if (name !== undefined) indexes.set(name, index);
    }
    return problems;
  };
}

/** A non-empty, well-formed string. */
export const text: Rule = (value, path) => {
  if (typeof value !== "string") return [`${path} must be a string, not ${describeKind(value)}`];
  if (value.trim() === "") return [`${path} is empty: write something, or leave it out if it is optional`];
  return value.isWellFormed() ? noProblems : [`${path} holds half a surrogate pair`];
};

/** A string, which may be empty. */
export const string: Rule = (value, path) =>
  typeof value === "string" ? noProblems : [`${path} must be a string, not ${describeKind(value)}`];

export const flag: Rule = (value, path) =>
  typeof value === "boolean" ? noProblems : [`${path} must be true or false, not ${describeKind(value)}`];

/** An integer from 0 to `most`. */
export const count = (most: number): Rule => {
  return (value, path) =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) <= most
      ? noProblems
      : [`${path} must be a whole number from 0 to ${most}, not ${show(value)}`];
};

/** A whole number of this or more. */
export const whole = (least: number): Rule => {
  return (value, path) =>
    Number.isSafeInteger(value) && Number(value) >= least
      ? noProblems
      : [`${path} must be a whole number of ${least} or more, not ${show(value)}`];
};

/** A whole number from 1 to `most`. */
export const wholeUpTo = (most: number): Rule => {
  return (value, path) =>
    Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most
      ? noProblems
      : [`${path} must be a whole number from 1 to ${most}, not ${show(value)}`];
};

/** A number of 0 or more; `Infinity` is one. */
export const amount: Rule = (value, path) =>
  typeof value === "number" && value >= 0 ? noProblems : [`${path} must be a number of 0 or more, not ${show(value)}`];

/** A duration in milliseconds of `least` or more; `Infinity` never ends. */
export const duration = (least: number): Rule => {
  return (value, path) =>
    typeof value === "number" && value >= least
      ? noProblems
      : [`${path} must be ${least} or more milliseconds, or Infinity, not ${show(value)}`];
};

/** A part of a whole: more than 0, and 1 at most. */
export const part: Rule = (value, path) =>
  typeof value === "number" && value > 0 && value <= 1
    ? noProblems
    : [`${path} must be a number above 0 and up to 1, not ${show(value)}`];

/** An object with any of these names, each with an amount unless `others` has a rule for it; `hints` as for `object`. */
export const limits = (
  defaults: object,
  others: Readonly<Record<string, Rule>> = {},
  hints?: Readonly<Record<string, string>>,
): Rule =>
  object(Object.fromEntries(Object.keys(defaults).map((name) => [name, { rule: others[name] ?? amount }])), hints);

/** An absolute URL with one of these schemes and without credentials, which every reader would see. */
export const url = (...schemes: readonly string[]): Rule => {
  return (value, path) => {
    const problems = text(value, path);
    if (problems.length > 0) return problems;
    const parsed = URL.parse(String(value));
    if (parsed === null || !schemes.includes(parsed.protocol.slice(0, -1))) {
      return [`${path} must be an absolute URL (${schemes.join(", ")}), not ${show(value)}`];
    }
    return parsed.username === "" && parsed.password === "" ? noProblems : [`${path} must not hold credentials`];
  };
};

/** An absolute URI that can be listed in `A2A-Extensions`. */
export const extensionUri: Rule = (value, path) => {
  const problems = text(value, path);
  if (problems.length > 0) return problems;
  return URL.canParse(String(value)) && /^[^\s,]+$/.test(String(value))
    ? noProblems
    : [`${path} must be an absolute URI without spaces and commas, not ${show(value)}`];
};

const token = "[\\w!#$%&'*+.^`|~-]+";
const mediaTypeForm = new RegExp(`^${token}/${token}(?: ?; ?${token}=(?:${token}|"[^"\\\\]*"))*$`);

/** `type/subtype`, optionally with parameters. */
export const mediaType: Rule = (value, path) => {
  const problems = text(value, path);
  if (problems.length > 0) return problems;
  return mediaTypeForm.test(String(value))
    ? noProblems
    : [`${path} must be a media type such as "text/plain", not ${show(value)}`];
};

/** `host:port`, with an IPv6 address in brackets, or a URL without a path: `https://host:port`. */
export const grpcAddress: Rule = (value, path) => {
  const problems = text(value, path);
  if (problems.length > 0) return problems;
  const [, , authority] = /^(https?:\/\/)?((?:[\w.-]+|\[[\da-f:.]+\]):\d+)$/i.exec(String(value)) ?? [];
  return authority !== undefined && URL.canParse(`http://${authority}`)
    ? noProblems
    : [`${path} must be host:port or https://host:port, such as "agent.example:443", not ${show(value)}`];
};

const maxDepth = 32;

function jsonProblems(value: unknown, path: string, above: readonly object[]): readonly string[] {
  if (value === null || typeof value === "boolean" || Number.isFinite(value)) return noProblems;
  if (typeof value === "string") return value.isWellFormed() ? noProblems : [`${path} holds half a surrogate pair`];
  if (!Array.isArray(value) && !isPlainObject(value)) return [`${path} must be JSON, not ${describeKind(value)}`];
  if (above.includes(value)) return [`${path} holds itself`];
  if (above.length === maxDepth) return [`${path} is nested more than ${maxDepth} deep`];
  const within = [...above, value];
  if (!Array.isArray(value)) {
    return Object.entries(value).flatMap(([name, entry]) => jsonProblems(entry, `${path}.${name}`, within));
  }
  return Array.from<unknown>(value).flatMap((entry, index) => jsonProblems(entry, `${path}[${index}]`, within));
}

/** An object that JSON can express. */
export const jsonObject: Rule = (value, path) =>
  isPlainObject(value) ? jsonProblems(value, path, []) : [`${path} must be an object, not ${describeKind(value)}`];

/** An object, of any class; not an array. */
export const anyObject: Rule = (value, path) =>
  isRecord(value) ? noProblems : [`${path} must be an object, not ${describeKind(value)}`];

export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function describeKind(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}

function show(value: unknown): string {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? JSON.stringify(value.slice(0, 80)) : describeKind(value);
}
