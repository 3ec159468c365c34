/** Names of the service parameters, as headers and as gRPC metadata (spec 3.2.6). Names are case-insensitive. */
export const versionParameter = "a2a-version";
export const extensionsParameter = "a2a-extensions";
/** The parameter's name before the protocol adopted it. */
const oldExtensionsParameter = "x-a2a-extensions";

/** Media type of the HTTP+JSON binding and of webhook calls (spec 14.1). */
export const a2aMediaType = "application/a2a+json";

/** Splits the value of `A2A-Extensions` into URIs, in order and without duplicates. */
export function parseExtensions(value: string | undefined): readonly string[] {
  if (value === undefined || value === "") return noExtensions;
  return [...new Set(value.split(",").map((uri) => uri.trim()))].filter((uri) => uri !== "");
}

/** Returns the extensions that a call requests under either name of the parameter. */
export function requestedExtensions(header: (name: string) => string | undefined): readonly string[] {
  const value = header(extensionsParameter);
  const oldValue = header(oldExtensionsParameter);
  return parseExtensions(value === undefined || oldValue === undefined ? (value ?? oldValue) : `${value},${oldValue}`);
}

const noExtensions: readonly string[] = [];

/** Joins URIs into one header value. */
export function formatExtensions(uris: readonly string[]): string {
  return uris.join(",");
}

/**
 * Returns `Major.Minor` of a version value and ignores a third component (spec 3.6). Returns `undefined` if the value
 * is not a version.
 */
export function parseVersion(value: string): string | undefined {
  const match = /^(\d{1,4})\.(\d{1,4})(?:\.\d{1,9})?$/.exec(value.trim());
  return match === null ? undefined : `${match[1]}.${match[2]}`;
}

/**
 * Headers without an `Authorization` that names a scheme and no credential, such as `Bearer ` before a variable that is
 * not set. Agents refuse such a header, and it would take the place of credentials.
 */
export function withoutEmptyCredentials(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const isEmpty = ([name, value]: readonly [string, string]): boolean =>
    name.toLowerCase() === "authorization" && /^\s*(?:bearer|basic|dpop|digest)?\s*$/i.test(value);
  const entries = Object.entries(headers);
  return entries.some(isEmpty) ? Object.fromEntries(entries.filter((entry) => !isEmpty(entry))) : headers;
}

/** The same headers with their names in lower case. Throws a `TypeError` if two spellings have different values. */
export function lowerCaseNames(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const lower = Object.fromEntries(entries);
  for (const [name, value] of entries) {
    if (lower[name] !== value) throw new TypeError(`headers has ${name} in two spellings`);
  }
  return lower;
}
