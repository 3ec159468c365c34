import { type A2AError, changeError } from "../protocol/errors.js";
import type { AgentCard } from "../protocol/model.js";
import { checkOptions } from "./check-options.js";
import type { Credential, CredentialSource } from "./credentials.js";
import type { CredentialEnvironment, CredentialOptions, CredentialProvider } from "./options.js";
import { untilAborted } from "./part.js";
import { checkCredential, isSameCredential, mergeCredentials } from "./placement.js";
import { pickRequirement, type Requirement } from "./requirement.js";

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
  checkOptions(credentials);
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
