// Rules for an author's values, perhaps written without TypeScript: each reports every problem by path.

/** Problems of the value at `path` as sentences; empty when it is valid. */
export type Rule = (value: unknown, path: string) => readonly string[];

/** A member of an object. `missing` says what to write when it is absent; a member without it is optional. */
export interface Member {
  readonly rule: Rule;
  readonly missing?: string | undefined;
}

const well: readonly string[] = [];

/** An object with only these members; `hints` say what to do about other names that are often tried. */
export function object(members: Readonly<Record<string, Member>>, hints: Readonly<Record<string, string>> = {}): Rule {
  return (value, path) => {
    if (!isObject(value)) return [`${path} must be an object, not ${kindOf(value)}`];
    const strays = Object.keys(value).filter((name) => !Object.hasOwn(members, name) && value[name] !== undefined);
    const instead = `take it out, or use one of ${Object.keys(members).join(", ")}`;
    return [
      ...Object.entries(members).flatMap(([name, member]) => memberProblems(member, value[name], `${path}.${name}`)),
      ...strays.map((name) => `${path}.${name} cannot be given: ${Object.hasOwn(hints, name) ? hints[name] : instead}`),
    ];
  };
}

function memberProblems({ rule, missing }: Member, value: unknown, path: string): readonly string[] {
  if (value !== undefined) return rule(value, path);
  return missing === undefined ? well : [`${path} is missing: ${missing}`];
}

/** A non-empty list without two entries of the same `key`. */
export function list(rule: Rule, key: (entry: unknown) => unknown = () => undefined): Rule {
  return (value, path) => {
    if (!Array.isArray(value)) return [`${path} must be an array, not ${kindOf(value)}`];
    if (value.length === 0) return [`${path} is empty: give at least one entry, or leave it out if it is optional`];
    const problems: string[] = [];
    const seen = new Map<unknown, number>();
    for (const [index, entry] of Array.from<unknown>(value).entries()) {
      problems.push(...rule(entry, `${path}[${index}]`));
      const name = key(entry);
      const before = seen.get(name);
      if (before !== undefined)
        problems.push(`${path}[${index}] repeats ${JSON.stringify(name)} of ${path}[${before}]`);
      else if (name !== undefined) seen.set(name, index);
    }
    return problems;
  };
}

/** A non-empty, well-formed string. */
export const text: Rule = (value, path) => {
  if (typeof value !== "string") return [`${path} must be a string, not ${kindOf(value)}`];
  if (value.trim() === "") return [`${path} is empty: write something, or leave it out if it is optional`];
  return value.isWellFormed() ? well : [`${path} holds half a surrogate pair`];
};

export const flag: Rule = (value, path) =>
  typeof value === "boolean" ? well : [`${path} must be true or false, not ${kindOf(value)}`];

/** An integer from 0 to `most`. */
export const count = (most: number): Rule => {
  return (value, path) =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) <= most
      ? well
      : [`${path} must be a whole number from 0 to ${most}, not ${shown(value)}`];
};

/** An absolute URL with one of these schemes and without credentials, which everybody would read. */
export const url = (...schemes: readonly string[]): Rule => {
  return (value, path) => {
    const problems = text(value, path);
    if (problems.length > 0) return problems;
    const parsed = URL.parse(String(value));
    if (parsed === null || !schemes.includes(parsed.protocol.slice(0, -1))) {
      return [`${path} must be an absolute URL (${schemes.join(", ")}), not ${shown(value)}`];
    }
    return parsed.username === "" && parsed.password === "" ? well : [`${path} must not hold credentials`];
  };
};

/** An absolute URI that can be listed in `A2A-Extensions`. */
export const extensionUri: Rule = (value, path) => {
  const problems = text(value, path);
  if (problems.length > 0) return problems;
  return URL.canParse(String(value)) && /^[^\s,]+$/.test(String(value))
    ? well
    : [`${path} must be an absolute URI without spaces and commas, not ${shown(value)}`];
};

const token = "[\\w!#$%&'*+.^`|~-]+";
const mediaTypeForm = new RegExp(`^${token}/${token}(?: ?; ?${token}=(?:${token}|"[^"\\\\]*"))*$`);

/** `type/subtype`, optionally with parameters. */
export const mediaType: Rule = (value, path) => {
  const problems = text(value, path);
  if (problems.length > 0) return problems;
  return mediaTypeForm.test(String(value))
    ? well
    : [`${path} must be a media type such as "text/plain", not ${shown(value)}`];
};

/** `host:port`, with an IPv6 address in brackets, or a URL without a path: `https://host:port`. */
export const grpcAddress: Rule = (value, path) => {
  const problems = text(value, path);
  if (problems.length > 0) return problems;
  const [, , authority] = /^(https?:\/\/)?((?:[\w.-]+|\[[\da-f:.]+\]):\d+)$/i.exec(String(value)) ?? [];
  return authority !== undefined && URL.canParse(`http://${authority}`)
    ? well
    : [`${path} must be host:port or https://host:port, such as "agent.example:443", not ${shown(value)}`];
};

const deepest = 32;

function jsonProblems(value: unknown, path: string, above: readonly object[]): readonly string[] {
  if (value === null || typeof value === "boolean" || Number.isFinite(value)) return well;
  if (typeof value === "string") return value.isWellFormed() ? well : [`${path} holds half a surrogate pair`];
  if (!Array.isArray(value) && !isObject(value)) return [`${path} must be JSON, not ${kindOf(value)}`];
  if (above.includes(value)) return [`${path} holds itself`];
  if (above.length === deepest) return [`${path} is nested more than ${deepest} deep`];
  const within = [...above, value];
  if (!Array.isArray(value)) {
    return Object.entries(value).flatMap(([name, entry]) => jsonProblems(entry, `${path}.${name}`, within));
  }
  return Array.from<unknown>(value).flatMap((entry, index) => jsonProblems(entry, `${path}[${index}]`, within));
}

/** An object that JSON can express. */
export const jsonObject: Rule = (value, path) =>
  isObject(value) ? jsonProblems(value, path, []) : [`${path} must be an object, not ${kindOf(value)}`];

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}

function shown(value: unknown): string {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? JSON.stringify(value.slice(0, 80)) : kindOf(value);
}
