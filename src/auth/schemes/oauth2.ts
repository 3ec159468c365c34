import {
  allowInsecureRequests,
  ClientSecretBasic,
  customFetch,
  introspectionRequest,
  processIntrospectionResponse,
} from "oauth4webapi";
import { maySendSecret } from "../../protocol/authorization/may-send-secret.js";
import {
  amount,
  assertOptions,
  flag,
  type MembersOf,
  object,
  record,
  string,
  text,
} from "../../protocol/check/rules.js";
import { readErrorMessage } from "../../protocol/errors.js";
import {
  bearerChallenge,
  bearerCheck,
  checkJwtOptions,
  createTokenCheck,
  type JwtOptions,
  jwtMembers,
} from "./bearer-jwt.js";
import { libraryFetch } from "./fetch-response.js";
import { identityFrom, type TokenCheck } from "./jwt.js";
import {
  type AuthScheme,
  CredentialError,
  createCheckError,
  type SchemeDeclaration,
  type SchemeEnvironment,
} from "./scheme.js";
import { TokenCache } from "./token-cache.js";

/** Scopes, each with a description for people. */
export type Scopes = Readonly<Record<string, string>>;

/** The URLs at which callers get their tokens. */
export interface TokenEndpoint {
  /** Where a token is requested. */
  readonly tokenUrl: string;
  /** Where tokens are refreshed. Default: `tokenUrl`. */
  readonly refreshUrl?: string | undefined;
  /** The scopes that exist. */
  readonly scopes: Scopes;
}

/** How callers get a token. Exactly one flow, because a 1.0 card can list only one. */
export interface OAuthFlows {
  /** For services that act for themselves. */
  readonly clientCredentials?: TokenEndpoint | undefined;
  /** For people with a browser. */
  readonly authorizationCode?:
    | (TokenEndpoint & {
        readonly authorizationUrl: string;
        /** Whether PKCE is required (RFC 7636). Default: true. */
        readonly pkceRequired?: boolean | undefined;
      })
    | undefined;
  /** For people who approve on another device. */
  readonly deviceCode?: (TokenEndpoint & { readonly deviceAuthorizationUrl: string }) | undefined;
}

/** Token introspection at the authorization server (RFC 7662). */
export interface IntrospectionOptions {
  /** URL of the introspection endpoint. */
  readonly endpoint: string;
  /** Client id of this agent at the authorization server. */
  readonly clientId: string;
  /** Client secret of this agent. */
  readonly clientSecret: string;
  /** Required `aud`, if the answer has an audience. Default: not checked. */
  readonly audience?: string | undefined;
  /**
   * How long an answer is cached, in milliseconds: a revoked token is accepted for up to that long. Default: 30,000.
   */
  readonly cacheMs?: number | undefined;
}

/** Options of `oauth2`: how callers get tokens, and how tokens are checked. */
export interface OAuth2Options {
  /** How callers get a token, for the card. */
  readonly flows: OAuthFlows;
  /** For JSON Web Tokens, which are checked locally. */
  readonly jwt?: JwtOptions | undefined;
  /** For opaque tokens: the authorization server checks each. */
  readonly introspection?: IntrospectionOptions | undefined;
  /** URL of the authorization server's metadata (RFC 8414), for the card. Default: none. */
  readonly metadataUrl?: string | undefined;
  /** For people, in the card. Default: none. */
  readonly description?: string | undefined;
}

const url = { rule: string, missing: "give an https URL" };

const endpoint: MembersOf<TokenEndpoint> = {
  tokenUrl: url,
  refreshUrl: { rule: string },
  scopes: { rule: record(string), missing: "list the scopes with a description each, or {}" },
};

const flows: MembersOf<OAuthFlows> = {
  clientCredentials: { rule: object(endpoint) },
  authorizationCode: { rule: object({ ...endpoint, authorizationUrl: url, pkceRequired: { rule: flag } }) },
  deviceCode: { rule: object({ ...endpoint, deviceAuthorizationUrl: url }) },
};

const introspection: MembersOf<IntrospectionOptions> = {
  endpoint: url,
  clientId: { rule: text, missing: "give the name of this agent at the authorization server" },
  clientSecret: { rule: text, missing: "give the secret of this agent at the authorization server" },
  audience: { rule: text },
  cacheMs: { rule: amount },
};

const members: MembersOf<OAuth2Options> = {
  flows: { rule: object(flows), missing: "say how callers get a token, for the card" },
  jwt: { rule: object(jwtMembers) },
  introspection: { rule: object(introspection) },
  metadataUrl: { rule: string },
  description: { rule: string },
};
const rule = object(members);

/**
 * Accepts tokens of an OAuth 2.0 authorization server in `Authorization: Bearer …` (spec 4.5.4). Needs `jwt` or
 * `introspection`. Throws a `TypeError` for wrong options, such as a URL that is not https.
 *
 * @example
 * ```ts
 * const oauth = oauth2({
 *   flows: { clientCredentials: { tokenUrl: "https://login.example/token", scopes: { ask: "Ask the agent" } } },
 *   jwt: { issuer: "https://login.example", audience: "weather" },
 * });
 * const server = await serve({ card, agent, auth: { schemes: { oauth }, require: [{ oauth: ["ask"] }] } });
 * ```
 */
export function oauth2(options: OAuth2Options): AuthScheme {
  assertOptions("oauth2", options, rule);
  const { flows, jwt, introspection, metadataUrl: oauth2MetadataUrl = "", description = "" } = options;
  if ((jwt === undefined) === (introspection === undefined)) {
    throw new TypeError("oauth2: give jwt or introspection: without one of them no token is checked");
  }
  if (jwt !== undefined) checkJwtOptions("oauth2: jwt", jwt);
  if (introspection !== undefined) checkUrl("introspection.endpoint", introspection.endpoint);
  if (oauth2MetadataUrl !== "") checkUrl("metadataUrl", oauth2MetadataUrl);
  const flow = chooseFlow(flows);
  return {
    declaration: { case: "oauth2SecurityScheme", value: { flows: { flow }, oauth2MetadataUrl, description } },
    challenge: bearerChallenge,
    open: (environment) =>
      bearerCheck(
        introspection === undefined
          ? createTokenCheck(jwt ?? { issuer: "", audience: "" }, environment)
          : introspectionCheck(introspection, environment),
      ),
  };
}

type Flow = NonNullable<
  NonNullable<Extract<SchemeDeclaration, { case: "oauth2SecurityScheme" }>["value"]["flows"]>["flow"]
>;

function chooseFlow(flows: OAuthFlows): Flow {
  const [name, second] = Object.entries(flows).flatMap(([name, flow]) => (flow === undefined ? [] : [name]));
  if (name === undefined || second !== undefined) {
    throw new TypeError("oauth2: flows must have exactly one of clientCredentials, authorizationCode and deviceCode");
  }
  const { clientCredentials, authorizationCode, deviceCode } = flows;
  if (clientCredentials !== undefined)
    return { case: "clientCredentials", value: createEndpoint(name, clientCredentials) };
  if (deviceCode !== undefined) {
    const { deviceAuthorizationUrl } = deviceCode;
    checkUrl(`flows.${name}.deviceAuthorizationUrl`, deviceAuthorizationUrl);
    return { case: "deviceCode", value: { ...createEndpoint(name, deviceCode), deviceAuthorizationUrl } };
  }
  if (authorizationCode === undefined)
    throw new TypeError(`oauth2: flows.${name} is not one of clientCredentials, authorizationCode and deviceCode`);
  const { authorizationUrl, pkceRequired = true } = authorizationCode;
  checkUrl(`flows.${name}.authorizationUrl`, authorizationUrl);
  const value = { ...createEndpoint(name, authorizationCode), authorizationUrl, pkceRequired };
  return { case: "authorizationCode", value };
}

function createEndpoint(name: string, { tokenUrl, refreshUrl = "", scopes }: TokenEndpoint) {
  checkUrl(`flows.${name}.tokenUrl`, tokenUrl);
  if (refreshUrl !== "") checkUrl(`flows.${name}.refreshUrl`, refreshUrl);
  return { tokenUrl, refreshUrl, scopes: { ...scopes } };
}

function checkUrl(name: string, url: string): void {
  if (!maySendSecret(url, false)) throw new TypeError(`oauth2: ${name} must be an https URL`);
}

function introspectionCheck(options: IntrospectionOptions, { fetch, clock }: SchemeEnvironment): TokenCheck {
  const { endpoint, clientId, clientSecret, audience, cacheMs = 30_000 } = options;
  const server = { issuer: new URL(endpoint).origin, introspection_endpoint: endpoint };
  const client = { client_id: clientId };
  const cache = new TokenCache(clock, cacheMs);
  const ask = async (token: string) => {
    try {
      const request = { [customFetch]: libraryFetch(fetch), [allowInsecureRequests]: true };
      const answer = await introspectionRequest(server, client, ClientSecretBasic(clientSecret), token, request);
      return await processIntrospectionResponse(server, client, answer);
    } catch (cause) {
      throw createCheckError(
        new Error(`${endpoint} does not answer about the token: ${readErrorMessage(cause)}`, { cause }),
      );
    }
  };
  const check = async (token: string) => {
    const { active, ...claims } = await ask(token);
    if (!active) throw new CredentialError("the token is invalid, expired or revoked");
    const isForeign = audience !== undefined && ![claims.aud].flat().includes(audience);
    if (isForeign) throw new CredentialError("the token's claim aud does not name this agent");
    // Some servers answer from a cache of their own.
    const { exp = Number.POSITIVE_INFINITY, nbf = 0 } = claims;
    if (exp * 1000 <= clock.now()) throw new CredentialError("the token has expired");
    if (nbf * 1000 > clock.now()) throw new CredentialError("the token's claim nbf is in the future");
    const identity = identityFrom({ iss: server.issuer, ...claims });
    cache.set(token, identity, exp * 1000);
    return identity;
  };
  return (token) => cache.identify(token, check);
}
