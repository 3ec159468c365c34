import { maySendSecret } from "../../protocol/authorization/may-send-secret.js";
import { assertOptions, type MembersOf, object, string } from "../../protocol/check/rules.js";
import {
  bearerChallenge,
  bearerCheck,
  checkJwtOptions,
  createTokenCheck,
  type JwtOptions,
  jwtMembers,
} from "./bearer-jwt.js";
import type { AuthScheme } from "./scheme.js";

/** Options of `openIdConnect`: the provider, and which tokens are accepted. */
export interface OpenIdConnectOptions extends Omit<JwtOptions, "issuer" | "jwks" | "key"> {
  /** URL of the provider's metadata; ends in `/.well-known/openid-configuration`. */
  readonly discoveryUrl: string;
  /** For people, in the card. Default: none. */
  readonly description?: string | undefined;
}

const wellKnownPath = "/.well-known/openid-configuration";

const { audience, algorithms, clockSkewMs } = jwtMembers;
const members: MembersOf<OpenIdConnectOptions> = {
  discoveryUrl: { rule: string, missing: `give the https URL that ends in ${wellKnownPath}` },
  audience,
  algorithms,
  clockSkewMs,
  description: { rule: string },
};
const rule = object(members);

/**
 * Accepts tokens of an OpenID Connect provider in `Authorization: Bearer …` (spec 4.5.5). The provider's metadata,
 * which names the keys, is fetched for the first token. Throws a `TypeError` for wrong options.
 *
 * @example
 * ```ts
 * const oidc = openIdConnect({
 *   discoveryUrl: "https://login.example/.well-known/openid-configuration",
 *   audience: "weather",
 * });
 * const server = await serve({ card, agent, auth: { schemes: { oidc } } });
 * ```
 */
export function openIdConnect(providerOptions: OpenIdConnectOptions): AuthScheme {
  assertOptions("openIdConnect", providerOptions, rule);
  const { discoveryUrl, description = "", ...rest } = providerOptions;
  if (!maySendSecret(discoveryUrl, false) || !discoveryUrl.endsWith(wellKnownPath)) {
    throw new TypeError(`openIdConnect: discoveryUrl must be an https URL that ends in ${wellKnownPath}`);
  }
  const options = { ...rest, issuer: discoveryUrl.slice(0, -wellKnownPath.length) };
  checkJwtOptions("openIdConnect", options);
  return {
    declaration: { case: "openIdConnectSecurityScheme", value: { openIdConnectUrl: discoveryUrl, description } },
    challenge: bearerChallenge,
    open: (environment) => bearerCheck(createTokenCheck(options, environment)),
  };
}
