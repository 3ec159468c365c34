import type { OAuthSecret } from "../options.js";
import type { Placement } from "../placement.js";

/** The endpoints of an authorization server. */
export interface TokenServer {
  readonly tokenUrl: string;
  /** Empty: the token endpoint. */
  readonly refreshUrl?: string | undefined;
  readonly deviceAuthorizationUrl?: string | undefined;
}

/** A security scheme that is met by a token, and what there is to get one. */
export interface TokenUse {
  /** Of the scheme in the card. */
  readonly name: string;
  readonly secret: OAuthSecret;
  /** What the card's requirement asks for. */
  readonly scopes: readonly string[];
  readonly placement: Placement;
  readonly server: TokenServer | { readonly openIdConnectUrl: string };
}
