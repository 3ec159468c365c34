import { A2AError } from "../protocol/errors.js";
import type { AuthOptions } from "./auth-options.js";
import type { Needs } from "./requirements.js";
import { type CredentialError, quotedString } from "./schemes/scheme.js";

/** An invalid credential. */
export interface RefusedCredential {
  readonly scheme: string;
  readonly error: CredentialError;
}

export interface RefusalFacts {
  /** One of them is required. */
  readonly alternatives: readonly Needs[];
  readonly schemes: AuthOptions["schemes"];
  readonly failures: readonly RefusedCredential[];
  /** Scopes that are missing, if nothing else is. */
  readonly missingScopes: readonly string[] | undefined;
}

/**
 * The refusal of a call: `permissionDenied` with the missing scopes, else `unauthenticated` with one challenge for each
 * scheme of an alternative (RFC 9110, 11.6.1; RFC 6750, 3).
 */
export function refusal({ alternatives, schemes, failures, missingScopes }: RefusalFacts): A2AError {
  const names = [...new Set(alternatives.flat().map(([name]) => name))];
  if (missingScopes !== undefined) {
    const scope = missingScopes.join(" ");
    const challenge = `Bearer error="insufficient_scope", scope=${quotedString(scope)}`;
    return new A2AError("permissionDenied", `scopes are missing: ${scope}`, { challenge, metadata: { scopes: scope } });
  }
  const challenges = names.map((name) => {
    const { challenge = "" } = schemes[name] ?? {};
    const failure = failures.find(({ scheme }) => scheme === name);
    return failure === undefined || !challenge.startsWith("Bearer") ? challenge : invalidToken(challenge, failure);
  });
  const [failure] = failures.filter(({ scheme }) => names.includes(scheme));
  const text = failure?.error.message ?? `authentication is required: ${describe(alternatives)}`;
  const challenge = [...new Set(challenges)].filter((each) => each !== "").join(", ");
  return new A2AError("unauthenticated", text, { challenge, cause: failure?.error });
}

function invalidToken(challenge: string, { error }: RefusedCredential): string {
  return `${challenge} error="invalid_token", error_description=${quotedString(error.message)}`;
}

function describe(alternatives: readonly Needs[]): string {
  return alternatives.map((needs) => needs.map(([name]) => name).join(" and ")).join(", or ");
}
