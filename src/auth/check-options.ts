import type { CredentialOptions } from "./options.js";

/** Validates the options. Throws a `TypeError` that names the option, never its value. */
export function checkOptions(options: CredentialOptions): void {
  for (const [name, secret] of Object.entries(options)) {
    const problem = secret === undefined ? undefined : secretProblem(secret);
    if (problem !== undefined) throw new TypeError(`credentials[${JSON.stringify(name)}]${problem}`);
  }
}

type Members = Readonly<Record<string, unknown>>;

function secretProblem(secret: unknown): string | undefined {
  if (typeof secret === "string") return secret === "" ? " is empty" : undefined;
  if (typeof secret === "function") return undefined;
  if (isMembers(secret) && "username" in secret) return basicProblem(secret);
  if (isMembers(secret) && "clientId" in secret) return oauthProblem(secret);
  return " must be a string, a function, { username, password } or { clientId, … }";
}

function basicProblem({ username, password }: Members): string | undefined {
  if (typeof username !== "string" || username.includes(":")) return ".username must be a string without a colon";
  return typeof password === "string" ? undefined : ".password must be a string";
}

// Parameters that the flows set themselves.
const reserved = ["grant_type", "client_id", "client_secret", "scope", "device_code", "refresh_token"];

function oauthProblem(secret: Members): string | undefined {
  const { clientId, clientSecret, deviceCode, scopes, authentication, parameters, trustedOrigins } = secret;
  if (!isText(clientId)) return ".clientId must be a string that is not empty";
  if (clientSecret !== undefined && !isText(clientSecret)) return ".clientSecret must be a string that is not empty";
  if (deviceCode !== undefined && typeof deviceCode !== "function") return ".deviceCode must be a function";
  if (scopes !== undefined && !isListOf(scopes, isText)) return ".scopes must be a list of strings";
  if (
    authentication !== undefined &&
    authentication !== "client_secret_basic" &&
    authentication !== "client_secret_post"
  )
    return '.authentication must be "client_secret_basic" or "client_secret_post"';
  if (parameters !== undefined && !isMembers(parameters)) return ".parameters must be an object";
  const taken = reserved.find((name) => isMembers(parameters) && name in parameters);
  if (taken !== undefined) return `.parameters.${taken} cannot be given: the flow writes it`;
  if (trustedOrigins !== undefined && !isListOf(trustedOrigins, isOrigin))
    return '.trustedOrigins must be a list of origins such as "https://login.example"';
  return undefined;
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isOrigin(value: unknown): boolean {
  return typeof value === "string" && URL.parse(value)?.origin === value;
}

function isListOf(value: unknown, is: (entry: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every((entry) => is(entry));
}
