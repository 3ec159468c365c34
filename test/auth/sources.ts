import { setImmediate } from "node:timers/promises";
import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import type { CredentialEnvironment, CredentialOptions, OAuthSecret } from "../../src/auth/credential-options.js";
import { credentialSource } from "../../src/auth/credential-source.js";
import type { CredentialSource } from "../../src/auth/credentials.js";
import { A2AError, type ErrorCode } from "../../src/protocol/errors.js";
import { type AgentCard, AgentCardSchema } from "../../src/protocol/model.js";
import type { VirtualClock } from "../support/virtual-clock.js";

/** A card with security schemes. Requirements are lists of scheme names with their scopes. */
export function cardWith(
  securitySchemes: JsonObject,
  ...requirements: readonly Readonly<Record<string, readonly string[]>>[]
): AgentCard {
  const securityRequirements = requirements.map((schemes) => ({
    schemes: Object.fromEntries(Object.entries(schemes).map(([name, list]) => [name, { list: [...list] }])),
  }));
  return fromJson(AgentCardSchema, { securitySchemes, securityRequirements });
}

export const apiKey = (location: string, name: string): JsonObject => ({ apiKeySecurityScheme: { location, name } });

export const http = (scheme: string): JsonObject => ({ httpAuthSecurityScheme: { scheme } });

export const oauth2 = (flows: JsonObject): JsonObject => ({ oauth2SecurityScheme: { flows } });

export const clientCredentials = (tokenUrl: string, refreshUrl = ""): JsonObject =>
  oauth2({ clientCredentials: { tokenUrl, refreshUrl, scopes: {} } });

export const openIdConnect = (openIdConnectUrl: string): JsonObject => ({
  openIdConnectSecurityScheme: { openIdConnectUrl },
});

/** For tests in which no authorization server may be called. */
export const offline: CredentialEnvironment = {
  fetch: () => Promise.reject(new Error("nobody should be called")),
};

/** Returns the credential that a source makes for a card, without an authorization server. */
export function credentialFor(card: AgentCard, options: CredentialOptions, more: Partial<CredentialEnvironment> = {}) {
  return credentialSource(card, options, { ...offline, ...more }).get(undefined);
}

/** A source for one OAuth2 client credentials scheme, whose token endpoint is at the card's origin. */
export function clientSource(
  tokenUrl: string,
  secret: Partial<OAuthSecret> = {},
  more: Partial<CredentialEnvironment> & { readonly scopes?: readonly string[]; readonly refreshUrl?: string } = {},
): CredentialSource {
  const card = cardWith({ login: clientCredentials(tokenUrl, more.refreshUrl) }, { login: more.scopes ?? [] });
  const login = { clientId: "berth", clientSecret: "s3cret-of-berth", ...secret };
  return credentialSource(card, { login }, { fetch, cardUrl: tokenUrl, ...more });
}

export const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` }, query: {} });

export function refusal(challenge?: string, code: ErrorCode = "unauthenticated"): A2AError {
  return new A2AError(code, "the agent says no", { challenge });
}

/** Returns the error that a promise rejects with. */
export async function errorOf(work: Promise<unknown>): Promise<A2AError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof A2AError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

/** Waits until a timer of `ms` is set on a stopped clock. */
export async function timerOf(clock: VirtualClock, ms: number): Promise<void> {
  while (!clock.pending().includes(clock.now() + ms)) await setImmediate();
}
