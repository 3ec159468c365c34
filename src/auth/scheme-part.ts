import { base64FromBytes } from "../protocol/base64.js";
import type { SecurityScheme } from "../protocol/model.js";
import type { BasicSecret, CredentialEnvironment, OAuthSecret, Secret } from "./credential-options.js";
import { type CredentialPart, untilAborted } from "./credential-part.js";
import type { TokenUse } from "./oauth/token-use.js";
import {
  bearerPlacement,
  cookiePlacement,
  headerPlacement,
  isToken,
  type Placement,
  queryPlacement,
} from "./placement.js";

/** A scheme of a requirement, with the secret for it. */
export interface SchemeUse {
  readonly name: string;
  readonly scheme: SecurityScheme | undefined;
  readonly secret: Secret | undefined;
  /** Scopes that the requirement lists. */
  readonly scopes: readonly string[];
}

type Scheme<Case> = Extract<SecurityScheme["scheme"], { case: Case }>["value"];

/** The scheme's part of the credential, or why there is none. */
export type SchemePart = CredentialPart | { readonly unmetReason: string };

/** Combines a scheme with a secret. Throws a `TypeError` for a string that cannot be sent. */
export function schemePart(use: SchemeUse, environment: CredentialEnvironment): SchemePart {
  const scheme = use.scheme?.scheme;
  switch (scheme?.case) {
    case "apiKeySecurityScheme":
      return apiKeyPart(use, scheme.value);
    case "httpAuthSecurityScheme":
      return httpPart(use, scheme.value);
    case "oauth2SecurityScheme":
      return oauthPart(use, scheme.value, environment);
    case "openIdConnectSecurityScheme":
      return tokenPart(use, environment, () => ({ openIdConnectUrl: scheme.value.openIdConnectUrl }));
    case "mtlsSecurityScheme":
      return environment.certificates === true ? certificatePart : { unmetReason: "needs a client certificate" };
    default:
      return { unmetReason: "is not a security scheme of the card" };
  }
}

// The connection presents the certificate; a call carries nothing.
const certificatePart: CredentialPart = { key: "certificate", get: async () => ({}) };

function apiKeyPart({ name, secret }: SchemeUse, scheme: Scheme<"apiKeySecurityScheme">): SchemePart {
  const placement = apiKeyPlacement(name, scheme);
  if (placement === undefined) {
    return {
      unmetReason: `wants an API key in a place that does not exist: ${quote(scheme.location)}, ${quote(scheme.name)}`,
    };
  }
  if (!isText(secret)) return { unmetReason: `needs an API key (${scheme.location} ${quote(scheme.name)})` };
  return textPart(placement, secret);
}

function apiKeyPlacement(scheme: string, key: Scheme<"apiKeySecurityScheme">): Placement | undefined {
  const location = key.location.toLowerCase();
  if (location === "query" && key.name !== "") return queryPlacement(scheme, key.name);
  if (!isToken(key.name)) return undefined;
  if (location === "header") return headerPlacement(scheme, key.name);
  return location === "cookie" ? cookiePlacement(scheme, key.name) : undefined;
}

function httpPart({ name, secret }: SchemeUse, { scheme }: Scheme<"httpAuthSecurityScheme">): SchemePart {
  const kind = scheme.toLowerCase();
  if (kind === "basic") {
    if (!isBasic(secret)) return { unmetReason: "needs { username, password }" };
    const pair = new TextEncoder().encode(`${secret.username}:${secret.password}`);
    return textPart(headerPlacement(name, "authorization", "Basic "), base64FromBytes(pair));
  }
  if (!isToken(scheme)) return { unmetReason: `wants HTTP authentication of no known form: ${quote(scheme)}` };
  if (!isText(secret)) return { unmetReason: `needs a string for HTTP ${scheme}` };
  const bearer = kind === "bearer";
  return textPart(bearer ? bearerPlacement(name) : headerPlacement(name, "authorization", `${scheme} `), secret);
}

function oauthPart(
  use: SchemeUse,
  { flows }: Scheme<"oauth2SecurityScheme">,
  environment: CredentialEnvironment,
): SchemePart {
  return tokenPart(use, environment, (secret) => {
    const flow = flows?.flow;
    const means = listFlows(secret);
    if (flow?.case === undefined || !means.includes(flow.case)) {
      return {
        unmetReason: `has the OAuth2 flow ${flow?.case ?? "of no name"}, what is given is for ${means.join(" and ")}`,
      };
    }
    switch (flow.case) {
      case "deviceCode": {
        const { tokenUrl, refreshUrl, deviceAuthorizationUrl } = flow.value;
        return { tokenUrl, refreshUrl, deviceAuthorizationUrl };
      }
      case "authorizationCode": {
        const { tokenUrl, refreshUrl, authorizationUrl } = flow.value;
        return { tokenUrl, refreshUrl, authorizationUrl };
      }
      default: {
        const { tokenUrl, refreshUrl = "" } = "tokenUrl" in flow.value ? flow.value : { tokenUrl: "" };
        return { tokenUrl, refreshUrl };
      }
    }
  });
}

/** The flows that a secret has the means for. */
function listFlows({ authorizationCode, deviceCode }: OAuthSecret): readonly string[] {
  if (authorizationCode === undefined && deviceCode === undefined) return ["clientCredentials"];
  const code = authorizationCode === undefined ? [] : ["authorizationCode"];
  return deviceCode === undefined ? code : [...code, "deviceCode"];
}

/** A bearer token, given or requested from an authorization server. */
function tokenPart(
  { name, secret, scopes }: SchemeUse,
  environment: CredentialEnvironment,
  findServer: (secret: OAuthSecret) => TokenUse["server"] | { readonly unmetReason: string },
): SchemePart {
  const placement = bearerPlacement(name);
  if (isText(secret)) return textPart(placement, secret);
  if (!isOAuth(secret)) return { unmetReason: "needs a token, or { clientId, … } to get one" };
  const server = findServer(secret);
  if ("unmetReason" in server) return server;
  return lazyTokenPart({ name, secret, scopes, placement, server }, environment);
}

/** Loads the OAuth flows when the first token is needed. */
function lazyTokenPart(use: TokenUse, environment: CredentialEnvironment): CredentialPart {
  let loading: Promise<CredentialPart> | undefined;
  const load = async (): Promise<CredentialPart> => {
    const { createTokenPart } = await import("./oauth/token-part.js");
    return createTokenPart(use, environment);
  };
  const loadOnce = (): Promise<CredentialPart> => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  return {
    key: use.placement.key,
    get: async (signal) => (await loadOnce()).get(signal),
    refuse: async (refused, error) => (await (await loadOnce()).refuse?.(refused, error)) ?? false,
  };
}

type Text = string | (() => string | Promise<string>);

function textPart({ key, place }: Placement, secret: Text): CredentialPart {
  if (typeof secret === "function") return { key, get: async (signal) => place(await untilAborted(secret, signal)) };
  const credential = place(secret);
  return { key, get: async () => credential };
}

function isText(secret: Secret | undefined): secret is Text {
  return typeof secret === "string" || typeof secret === "function";
}

function isBasic(secret: Secret | undefined): secret is BasicSecret {
  return typeof secret === "object" && "username" in secret;
}

function isOAuth(secret: Secret | undefined): secret is OAuthSecret {
  return typeof secret === "object" && "clientId" in secret;
}

const shownLength = 64;

/** Quotes text of a card in a message, shortened if long. */
export function quote(text: string): string {
  return JSON.stringify(text.slice(0, shownLength));
}
