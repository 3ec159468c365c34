import type { AgentCard, SecurityScheme } from "../protocol/model.js";
import type { CredentialEnvironment, CredentialOptions, Secret } from "./options.js";
import type { CredentialPart } from "./part.js";
import { quote, schemePart } from "./scheme-part.js";

/** The requirement of a card that the secrets satisfy. */
export interface Requirement {
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
export function pickRequirement(
  card: AgentCard,
  options: CredentialOptions,
  environment: CredentialEnvironment,
): Requirement {
  const secrets = secretsByScheme(card.securitySchemes, options);
  const reasons: string[] = [];
  for (const alternative of alternativesOf(card)) {
    const result = satisfy(alternative, { card, secrets, environment });
    if (typeof result === "object") return { parts: result, unmetReason: undefined };
    reasons.push(result);
  }
  return { parts: [], unmetReason: reasons.length === 0 ? undefined : joinReasons(reasons, "; or ") };
}

function alternativesOf(card: AgentCard): readonly Alternative[] {
  if (card.securityRequirements.length === 0) return Object.keys(card.securitySchemes).map((name) => [[name, []]]);
  return card.securityRequirements
    .map(({ schemes }) => Object.entries(schemes).map(([name, { list }]) => [name, list] as const))
    .filter((alternative) => alternative.length > 0);
}

interface CredentialMeans {
  readonly card: AgentCard;
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly environment: CredentialEnvironment;
}

/** The parts that satisfy an alternative, or why it is not satisfied. */
function satisfy(
  alternative: Alternative,
  { card, secrets, environment }: CredentialMeans,
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
    const scheme = Object.hasOwn(schemes, name) ? name : onlyOf(schemes, name);
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
function onlyOf(schemes: Schemes, shortName: string): string | undefined {
  const isMeant = shortNames.get(shortName);
  if (isMeant === undefined) return undefined;
  const [name, second] = Object.entries(schemes).flatMap(([name, { scheme }]) => (isMeant(scheme) ? [name] : []));
  return second === undefined ? name : undefined;
}
