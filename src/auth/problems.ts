import { suggestion } from "../protocol/nearest.js";
import { operations as operationTable } from "../protocol/operations.js";
import type { AuthOptions } from "./auth-options.js";
import { listNeeds, type Requirements } from "./requirements.js";
import type { AuthScheme } from "./schemes/scheme.js";

/** Facts about the server that `auth` must not contradict. */
export interface ServerFacts {
  /** Ids of the card's skills. */
  readonly skills: readonly string[];
  /** Whether callers can show certificates: over TLS here, or to a trusted proxy. */
  readonly hasCertificates: boolean;
}

/** Contradictions of `auth`, each as a sentence that says what to change. */
export function authProblems(options: AuthOptions, facts: ServerFacts): readonly string[] {
  const { schemes, operations = {} } = options;
  const operationNames = operationTable.map(({ name }) => String(name));
  return [
    ...Object.entries(schemes).flatMap(([name, scheme]) => schemeProblems(name, scheme, facts)),
    ...requirementProblems("auth", options, facts),
    ...clashes(options),
    ...listUnknown(operations, operationNames).map(
      (name) => `auth.operations.${name} is not an operation: ${suggestion(name, operationNames)}`,
    ),
  ];
}

/** Requirements beside the schemes that they name. */
export interface NamedRequirements extends Pick<AuthOptions, "require" | "operations" | "skills"> {
  readonly schemes: object;
}

/** Contradictions between the requirements of an option, its schemes and the card. */
export function requirementProblems(
  option: string,
  { schemes, require, operations = {}, skills = {} }: NamedRequirements,
  facts: ServerFacts,
): readonly string[] {
  const names = Object.keys(schemes);
  const required: readonly (readonly [string, Requirements])[] = [
    ...(require === undefined ? [] : [[`${option}.require`, require] as const]),
    ...Object.entries(operations).flatMap(([name, each]) =>
      each === undefined ? [] : [[`${option}.operations.${name}`, each] as const],
    ),
    ...Object.entries(skills).map(([name, each]) => [`${option}.skills.${name}`, each] as const),
  ];
  return [
    ...(names.length === 0 ? [`${option}.schemes is empty: declare a scheme, or leave out ${option}`] : []),
    ...required.flatMap(([where, requirements]) => {
      if (requirements.length === 0) {
        return [`${where} is empty, which no call satisfies: leave it out, or use [[]] to require nothing`];
      }
      const needs = listNeeds(requirements).flat();
      const unknownNeeds = needs.filter(([name]) => !names.includes(name));
      const invalidScopes = needs.flatMap(([, scopes]) => scopes).filter((scope) => !scopeForm.test(scope));
      return [
        ...unknownNeeds.map(([name]) => {
          const hint = suggestion(name, names);
          return `${where} names ${JSON.stringify(name)}, which is not a scheme of ${option}.schemes: ${hint}`;
        }),
        ...invalidScopes.map(
          (scope) => `${where} names the scope ${JSON.stringify(scope)}: scopes are text without spaces and quotes`,
        ),
      ];
    }),
    ...listUnknown(skills, facts.skills).map(
      (id) => `${option}.skills.${id} is not a skill of the card: ${suggestion(id, facts.skills)}`,
    ),
  ];
}

/** A scope of OAuth (RFC 6749, 3.3): challenges list scopes between spaces. */
const scopeForm = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

function listUnknown(members: object, known: readonly string[]): string[] {
  return Object.keys(members).filter((name) => !known.includes(name));
}

/** Alternatives that no call satisfies, since it has one `Authorization` header. */
function clashes({ schemes, require = [], operations = {}, skills = {} }: AuthOptions): string[] {
  const alternatives = [require, ...Object.values(operations), ...Object.values(skills)].flatMap((each) =>
    listNeeds(each ?? []),
  );
  return alternatives.flatMap((needs) => {
    const names = needs.map(([name]) => name);
    const httpSchemes = new Set(names.flatMap((name) => listAuthorizationSchemes(schemes[name]?.declaration)));
    if (httpSchemes.size < 2) return [];
    return [`auth requires ${names.join(" and ")} of one call, which has a single Authorization header`];
  });
}

/** The HTTP authentication that a scheme looks for, if any. */
function listAuthorizationSchemes(declaration: AuthScheme["declaration"] | undefined): readonly string[] {
  switch (declaration?.case) {
    case "httpAuthSecurityScheme":
      return [String(declaration.value.scheme).toLowerCase()];
    case "oauth2SecurityScheme":
    case "openIdConnectSecurityScheme":
      return ["bearer"];
    default:
      return [];
  }
}

function schemeProblems(name: string, scheme: AuthScheme, { hasCertificates }: ServerFacts): string[] {
  if (typeof scheme.open !== "function" || typeof scheme.declaration !== "object") {
    return [
      `auth.schemes.${name} is not a security scheme: make it with a function of trivium/auth, such as bearerJwt()`,
    ];
  }
  if (scheme.needsCertificate !== true || hasCertificates) return [];
  return [
    `auth.schemes.${name} reads client certificates: give \`tls\`, or the addresses of a proxy that reports them as \`trustProxy\``,
  ];
}
