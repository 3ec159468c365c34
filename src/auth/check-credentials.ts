import { isRecord } from "../protocol/kinds.js";
import type { CredentialOptions } from "./credential-options.js";

/** Validates the options. Throws a `TypeError` that names the option, never its value. */
export function checkCredentials(options: CredentialOptions): void {
  for (const [name, secret] of Object.entries(options)) {
    const problem = secret === undefined ? undefined : secretProblem(secret);
    if (problem !== undefined) throw new TypeError(`credentials[${JSON.stringify(name)}]${problem}`);
  }
}

type Members = Readonly<Record<string, unknown>>;

function secretProblem(secret: unknown): string | undefined {
  if (typeof secret === "string") return secret === "" ? " is empty" : undefined;
  if (typeof secret === "function") return undefined;
  if (isRecord(secret) && "username" in secret) return basicProblem(secret);
  if (isRecord(secret) && "clientId" in secret) return oauthProblem(secret);
  return " must be a string, a function, { username, password } or { clientId, … }";
}

function basicProblem({ username, password }: Members): string | undefined {
  if (typeof username !== "string" || username.includes(":")) return ".username must be a string without a colon";
  return typeof password === "string" ? undefined : ".password must be a string";
}

// Parameters that the flows set themselves.
const reservedParameters = [
  ...["grant_type", "client_id", "client_secret", "scope", "device_code", "refresh_token"],
  ...["code", "code_verifier", "code_challenge", "code_challenge_method", "redirect_uri", "response_type", "state"],
];

const isFunction = (value: unknown): boolean => typeof value === "function";

/** Each member with its check, and the words for a value that passes. */
const oauthMembers: readonly (readonly [name: string, is: (value: unknown) => boolean, wanted: string])[] = [
  ["clientSecret", isText, "a string that is not empty"],
  ["deviceCode", isFunction, "a function"],
  ["authorizationCode", isFunction, "a function"],
  ["tokenStore", (value) => isRecord(value) && "load" in value && "save" in value, "an object with load() and save()"],
  ["scopes", (value) => isEveryEntry(value, isText), "a list of strings"],
  [
    "authentication",
    (value) => value === "client_secret_basic" || value === "client_secret_post",
    '"client_secret_basic" or "client_secret_post"',
  ],
  ["parameters", isRecord, "an object"],
  ["trustedOrigins", (value) => isEveryEntry(value, isOrigin), 'a list of origins such as "https://login.example"'],
];

function oauthProblem(secret: Members): string | undefined {
  const { clientId, parameters } = secret;
  if (!isText(clientId)) return ".clientId must be a string that is not empty";
  const violation = oauthMembers.find(([name, is]) => secret[name] !== undefined && !is(secret[name]));
  if (violation !== undefined) return `.${violation[0]} must be ${violation[2]}`;
  const parameter = reservedParameters.find((name) => isRecord(parameters) && name in parameters);
  return parameter === undefined ? undefined : `.parameters.${parameter} cannot be given: the flow writes it`;
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isOrigin(value: unknown): boolean {
  return typeof value === "string" && URL.parse(value)?.origin === value;
}

function isEveryEntry(value: unknown, is: (entry: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every((entry) => is(entry));
}
