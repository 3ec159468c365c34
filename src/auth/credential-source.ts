import { type A2AError, changeError } from "../protocol/errors.js";
import type { AgentCard, SecurityScheme } from "../protocol/model.js";
import { checkCredentials } from "./check-credentials.js";
import type { CredentialEnvironment, CredentialOptions, CredentialProvider, Secret } from "./credential-options.js";
import { type CredentialPart, untilAborted } from "./credential-part.js";
import type { Credential, CredentialSource } from "./credentials.js";
import { checkCredential, isSameCredential, mergeCredentials } from "./placement.js";
import { quote, schemePart } from "./scheme-part.js";

// The client side of authentication: picks the first requirement of the card that the caller's secrets satisfy.

/**
 * Creates the credentials for the agent of a card. Secrets are held in closures, so that printing the object shows
 * none. Throws a `TypeError` for invalid options.
 */
export function credentialSource(
  card: AgentCard,
  credentials: CredentialOptions | CredentialProvider,
  environment: CredentialEnvironment,
): CredentialSource {
  if (typeof credentials === "function") return providerSource(card, credentials);
  checkCredentials(credentials);
  return schemeSource(pickRequirement(card, credentials, environment));
}

function providerSource(card: AgentCard, provide: CredentialProvider): CredentialSource {
  const ask = async (
    refusal: A2AError | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Credential | undefined> => {
    const credential = await untilAborted(() => provide({ card, refused: refusal, signal }), signal);
    return credential === undefined ? undefined : checkCredential(credential);
  };
  return {
    get: (signal) => ask(undefined, signal),
    renew: async (previous, error, signal) => {
      const better = await ask(error, signal);
      return better === undefined || isSameCredential(better, previous) ? undefined : better;
    },
  };
}

function schemeSource({ parts, unmetReason }: Requirement): CredentialSource {
  const get = async (signal: AbortSignal | undefined): Promise<Credential | undefined> => {
    if (parts.length === 0) return undefined;
    return mergeCredentials(await Promise.all(parts.map((part) => part.get(signal))));
  };
  return {
    isSure: parts.length > 0,
    get,
    renew: async (previous, error, signal) => {
      if (unmetReason !== undefined) throw unmetError(unmetReason, error);
      const current = await get(signal);
      // Concurrent calls were refused too, and one of them has already renewed it.
      if (current === undefined || !isSameCredential(current, previous)) return current;
      const better = await Promise.all(parts.map((part) => part.refuse?.(current, error) ?? false));
      return better.includes(true) ? get(signal) : undefined;
    },
  };
}

function unmetError(unmetReason: string, error: A2AError): A2AError {
  const message = `the agent refused the call, and no credentials meet what its card asks for: ${unmetReason}`;
  return changeError(error, { message, cause: error });
}

/** The requirement of a card that the secrets satisfy. */
interface Requirement {
  /** Empty: calls carry no credential. */
  readonly parts: readonly CredentialPart[];
  /** Why no requirement is satisfied; `undefined` when one is, or when the card has none. */
  readonly unmetReason: string | undefined;
}

/** Scheme names with their required scopes: all schemes of one alternative apply together. */
type Alternative = readonly (readonly [name: string, scopes: readonly string[]])[];

/**
 * Picks the card's first requirement that the secrets satisfy entirely. An empty requirement comes last, since a caller
 * with a secret wants to be identified. In a card with schemes but no requirements each scheme counts as sufficient.
 */
function pickRequirement(card: AgentCard, options: CredentialOptions, environment: CredentialEnvironment): Requirement {
  const secrets = secretsByScheme(card.securitySchemes, options);
  const reasons: string[] = [];
  for (const alternative of listAlternatives(card)) {
    const result = satisfy(alternative, card, secrets, environment);
    if (typeof result === "object") return { parts: result, unmetReason: undefined };
    reasons.push(result);
  }
  return { parts: [], unmetReason: reasons.length === 0 ? undefined : joinReasons(reasons, "; or ") };
}

function listAlternatives(card: AgentCard): readonly Alternative[] {
  if (card.securityRequirements.length === 0) return Object.keys(card.securitySchemes).map((name) => [[name, []]]);
  return card.securityRequirements
    .map(({ schemes }) => Object.entries(schemes).map(([name, { list }]) => [name, list] as const))
    .filter((alternative) => alternative.length > 0);
}

/** The parts that satisfy an alternative, or why it is not satisfied. */
function satisfy(
  alternative: Alternative,
  card: AgentCard,
  secrets: ReadonlyMap<string, Secret>,
  environment: CredentialEnvironment,
): readonly CredentialPart[] | string {
  const parts: CredentialPart[] = [];
  const reasons: string[] = [];
  for (const [name, scopes] of alternative) {
    const part = schemePart(
      { name, scheme: card.securitySchemes[name], secret: secrets.get(name), scopes },
      environment,
    );
    if ("unmetReason" in part) reasons.push(`${quote(name)} ${part.unmetReason}`);
    else if (parts.some(({ key }) => key === part.key)) reasons.push(`${quote(name)} wants the same place as another`);
    else parts.push(part);
  }
  return reasons.length === 0 ? parts : joinReasons(reasons, " and ");
}

const listedMax = 8;

function joinReasons(reasons: readonly string[], joint: string): string {
  const more = reasons.length > listedMax ? [`${reasons.length - listedMax} more`] : [];
  return [...reasons.slice(0, listedMax), ...more].join(joint);
}

type Schemes = Readonly<Record<string, SecurityScheme>>;

/** Secrets by the card's scheme names: exact names first, then the short ones. */
function secretsByScheme(schemes: Schemes, options: CredentialOptions): ReadonlyMap<string, Secret> {
  const secrets = new Map<string, Secret>();
  for (const [name, secret] of Object.entries(options)) {
    const scheme = Object.hasOwn(schemes, name) ? name : findOnly(schemes, name);
    if (secret !== undefined && scheme !== undefined && (scheme === name || !Object.hasOwn(options, scheme))) {
      secrets.set(scheme, secret);
    }
  }
  return secrets;
}

const shortNames: ReadonlyMap<string, (scheme: SecurityScheme["scheme"]) => boolean> = new Map([
  ["apiKey", ({ case: kind }) => kind === "apiKeySecurityScheme"],
  ["oauth", ({ case: kind }) => kind === "oauth2SecurityScheme" || kind === "openIdConnectSecurityScheme"],
  ["bearer", (scheme) => scheme.case === "httpAuthSecurityScheme" && scheme.value.scheme.toLowerCase() === "bearer"],
]);

/** The single scheme that a short name means. */
function findOnly(schemes: Schemes, shortName: string): string | undefined {
  const isMeant = shortNames.get(shortName);
  if (isMeant === undefined) return undefined;
  const [name, second] = Object.entries(schemes).flatMap(([name, { scheme }]) => (isMeant(scheme) ? [name] : []));
  return second === undefined ? name : undefined;
}
