import type { Identity } from "./schemes/scheme.js";

// The requirements of a call: an OR of ANDs, as in the card (spec 4.5).

/** Schemes that a caller must satisfy together: a list of names, or the names with the scopes that each must grant. */
export type Alternative = readonly string[] | Readonly<Record<string, readonly string[]>>;

/** Alternatives, one of which a caller must satisfy. An empty one admits callers without credentials. */
export type Requirements = readonly Alternative[];

/** An alternative as pairs of a scheme and its scopes. */
export type Needs = readonly (readonly [scheme: string, scopes: readonly string[]])[];

export function listNeeds(requirements: Requirements): readonly Needs[] {
  return requirements.map((alternative) =>
    isNames(alternative) ? alternative.map((name) => [name, []] as const) : Object.entries(alternative),
  );
}

function isNames(alternative: Alternative): alternative is readonly string[] {
  return Array.isArray(alternative);
}

/** How far the identities of a call satisfy an alternative. */
export type AuthDecision =
  | { readonly is: "met"; readonly needs: Needs }
  | { readonly is: "unknown" }
  /** Every scheme is satisfied, but not with every scope. */
  | { readonly is: "narrow"; readonly missingScopes: readonly string[] };

/** The best verdict over all alternatives: the first that is met, else one that lacks scopes alone. */
export function decideAccess(alternatives: readonly Needs[], identities: ReadonlyMap<string, Identity>): AuthDecision {
  let best: AuthDecision = { is: "unknown" };
  for (const needs of alternatives) {
    if (!needs.every(([name]) => identities.has(name))) continue;
    const missingScopes = needs.flatMap(([name, scopes]) =>
      scopes.filter((scope) => identities.get(name)?.scopes?.includes(scope) !== true),
    );
    if (missingScopes.length === 0) return { is: "met", needs };
    if (best.is === "unknown") best = { is: "narrow", missingScopes: [...new Set(missingScopes)] };
  }
  return best;
}
