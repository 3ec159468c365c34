import type { OAuthSecret } from "../credential-options.js";
import type { Placement } from "../placement.js";

/** The endpoints of an authorization server. */
export interface TokenServer {
  readonly tokenUrl: string;
  /** Default: the token endpoint. */
  readonly refreshUrl?: string | undefined;
  readonly deviceAuthorizationUrl?: string | undefined;
  readonly authorizationUrl?: string | undefined;
  /** `iss` of its authorization responses. Default: unknown. */
  readonly issuer?: string | undefined;
  /** Whether each authorization response has `iss` (RFC 9207). */
  readonly answersWithIssuer?: boolean | undefined;
}

/** A security scheme that needs a token, and the means to get one. */
export interface TokenUse {
  /** Name of the scheme in the card. */
  readonly name: string;
  readonly secret: OAuthSecret;
  /** Scopes that the card's requirement lists. */
  readonly scopes: readonly string[];
  readonly placement: Placement;
  readonly server: TokenServer | { readonly openIdConnectUrl: string };
}
