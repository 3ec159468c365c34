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

/** Which OpenID Connect provider is trusted, and what its tokens must contain. */
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
  ...{ audience, algorithms, clockSkewMs, description: { rule: string } },
};
const rule = object(members);

/**
 * Tokens of an OpenID Connect provider, in `Authorization: Bearer …` (spec 4.5.5). Its metadata names the keys; it is read
 * when the first token is checked. Throws a `TypeError` for options that are not right.
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
