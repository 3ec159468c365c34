// The public API of `trivium/auth`: security schemes for the option `auth`.
export { type ApiKeyOptions, apiKey, type VerifyResult } from "./api-key.js";
export { type BasicOptions, basic } from "./basic.js";
export { type BearerJwtOptions, bearerJwt, type JwtOptions } from "./bearer-jwt.js";
export type { JwtKey } from "./jwt.js";
export { type MutualTlsOptions, mutualTls } from "./mutual-tls.js";
export {
  type IntrospectionOptions,
  type OAuth2Options,
  type OAuthFlows,
  oauth2,
  type Scopes,
  type TokenEndpoint,
} from "./oauth2.js";
export { type OpenIdConnectOptions, openIdConnect } from "./open-id-connect.js";
export { type AuthCall, type AuthScheme, CredentialError, type Identity, type SchemeEnvironment } from "./scheme.js";
