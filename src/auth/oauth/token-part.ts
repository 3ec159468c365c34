import { A2AError } from "../../protocol/errors.js";
import { findErrorScopes } from "../challenge.js";
import type { CredentialEnvironment } from "../credential-options.js";
import { type CredentialPart, untilAborted } from "../credential-part.js";
import type { Credential } from "../credentials.js";
import { createDeviceCodeFlow, type DeviceCodeFlow } from "./device-code.js";
import {
  answerError,
  describeEndpoint,
  readText,
  requestServer,
  resolveEnvironment,
  type ServerEnvironment,
} from "./server-request.js";
import { findOAuthError, type OAuthClient, requestToken, type Token } from "./token-request.js";
import type { TokenServer, TokenUse } from "./token-use.js";

// A bearer token from an authorization server, from its endpoints to its renewal. The first call that needs a token finds
// the server (`discover`), takes a stored token, refreshes one, or asks for one by a grant. Calls at the same time share that
// work (`shareWork`). A refusal that names missing scopes asks for a wider token, and falls back to the one before if none
// is granted.
//
// There are three grants: client credentials, device code, authorization code. The browser, the loopback port and the file
// of tokens for a user at a terminal belong to the command line (`cli/login`).

/** Scopes beyond those of the card that refusals may add: an agent could name others with each. */
const widenMax = 64;

/** A token, and the scopes that it was requested with. */
interface Grant {
  readonly scopes: readonly string[];
  readonly token: Token | undefined;
  readonly refreshToken: string | undefined;
}

/** A bearer token from an authorization server. Kept until it is stale or refused, then renewed once for all calls. */
export function createTokenPart(use: TokenUse, environment: CredentialEnvironment): CredentialPart {
  return new TokenPart(use, { secret: use.secret, environment: resolveEnvironment(environment, use.secret) });
}

class TokenPart implements CredentialPart {
  readonly key: string;
  readonly #use: TokenUse;
  readonly #client: OAuthClient;
  readonly #device: DeviceCodeFlow;
  readonly #renewOnce = shareWork((signal) => this.#renewOrTakeBack(signal));
  #scopes: readonly string[];
  #server: TokenServer | undefined;
  #token: Token | undefined;
  #isLoaded = false;
  #refreshToken: string | undefined;
  /** The grant before more scopes were asked for, until they are granted. */
  #previousGrant: Grant | undefined;
  /** Scopes that the authorization server, or the user, did not grant. */
  readonly #deniedScopes = new Set<string>();

  constructor(use: TokenUse, client: OAuthClient) {
    this.key = use.placement.key;
    this.#use = use;
    this.#client = client;
    this.#device = createDeviceCodeFlow(client);
    this.#scopes = use.secret.scopes ?? use.scopes;
  }

  async get(signal: AbortSignal | undefined): Promise<Credential> {
    const { staleAt = Number.POSITIVE_INFINITY } = this.#token ?? {};
    const isFresh = this.#client.environment.clock.now() < staleAt;
    const token = this.#token !== undefined && isFresh ? this.#token : await this.#renewOnce(signal);
    return this.#use.placement.place(token.accessToken);
  }

  async refuse(credential: Credential, error: A2AError): Promise<boolean> {
    const missingScopes = findErrorScopes(error);
    // An agent that recognizes the caller and refuses it would refuse another token too, unless it says what is missing.
    if (error.code === "permissionDenied" && error.challenge === undefined && missingScopes === undefined) return false;
    const wider = missingScopes === undefined ? [] : this.#widenScopes(missingScopes);
    if (missingScopes !== undefined && wider.length === this.#scopes.length) return false;
    if (!this.#isCurrent(credential)) return true;
    if (missingScopes === undefined) {
      this.#token = undefined;
      return true;
    }
    this.#previousGrant = { scopes: this.#scopes, token: this.#token, refreshToken: this.#refreshToken };
    // A refresh cannot add scopes that the first token lacked.
    this.#grant({ scopes: wider, token: undefined, refreshToken: undefined });
    return true;
  }

  #widenScopes(missingScopes: readonly string[]): readonly string[] {
    const { secret, scopes } = this.#use;
    if (secret.scopes !== undefined) return this.#scopes;
    const wider = new Set([...this.#scopes, ...missingScopes.filter((scope) => !this.#deniedScopes.has(scope))]);
    return wider.size > scopes.length + widenMax ? this.#scopes : [...wider];
  }

  #grant({ scopes, token, refreshToken }: Grant): void {
    this.#scopes = scopes;
    this.#token = token;
    this.#refreshToken = refreshToken;
  }

  /** Continues with the token of before when no token with more scopes can be had: other calls do without them. */
  #takeBack(error: unknown): void {
    const before = this.#previousGrant;
    if (before === undefined) return;
    if (findOAuthError(error) !== undefined) {
      for (const scope of this.#scopes) if (!before.scopes.includes(scope)) this.#deniedScopes.add(scope);
    }
    this.#previousGrant = undefined;
    this.#grant(before);
  }

  #isCurrent(credential: Credential): boolean {
    if (this.#token === undefined) return false;
    const { headers = {} } = this.#use.placement.place(this.#token.accessToken);
    return Object.entries(headers).every(([name, value]) => credential.headers?.[name] === value);
  }

  async #renewOrTakeBack(signal: AbortSignal): Promise<Token> {
    try {
      const token = await this.#renew(signal);
      this.#previousGrant = undefined;
      return token;
    } catch (error) {
      this.#takeBack(error);
      throw error;
    }
  }

  async #renew(signal: AbortSignal): Promise<Token> {
    this.#server ??= await this.#findServer(signal);
    const storedToken = await this.#loadOnce(this.#server);
    if (storedToken !== undefined) return storedToken;
    const token = (await this.#refresh(this.#server, signal)) ?? (await this.#obtain(this.#server, signal));
    this.#token = token;
    this.#refreshToken = token.refreshToken ?? this.#refreshToken;
    const { accessToken, staleAt } = token;
    const { tokenUrl } = this.#server;
    const tokens = { tokenUrl, accessToken, staleAt, refreshToken: this.#refreshToken, scopes: this.#scopes };
    await this.#use.secret.tokenStore?.save(tokens);
    return token;
  }

  /** A token of an earlier client that is still fresh. Its refresh token is kept in any case. */
  async #loadOnce({ tokenUrl }: TokenServer): Promise<Token | undefined> {
    if (this.#isLoaded) return undefined;
    this.#isLoaded = true;
    const storedTokens = await this.#use.secret.tokenStore?.load();
    if (storedTokens === undefined || storedTokens.tokenUrl !== tokenUrl) return undefined;
    if (!this.#scopes.every((scope) => storedTokens.scopes.includes(scope))) return undefined;
    this.#scopes = storedTokens.scopes;
    this.#refreshToken = storedTokens.refreshToken;
    const { accessToken, staleAt, refreshToken } = storedTokens;
    if (this.#client.environment.clock.now() >= (staleAt ?? Number.POSITIVE_INFINITY)) return undefined;
    this.#token = { accessToken, staleAt, refreshToken };
    return this.#token;
  }

  async #findServer(signal: AbortSignal): Promise<TokenServer> {
    const { server } = this.#use;
    return "tokenUrl" in server ? server : discover(this.#client.environment, server.openIdConnectUrl, signal);
  }

  /** `undefined` when there is no refresh token or the server no longer accepts it. */
  async #refresh(server: TokenServer, signal: AbortSignal): Promise<Token | undefined> {
    if (this.#refreshToken === undefined) return undefined;
    const url = server.refreshUrl || server.tokenUrl;
    const fields = { grant_type: "refresh_token", refresh_token: this.#refreshToken };
    try {
      return await requestToken(this.#client, { url, fields }, signal);
    } catch (error) {
      if (findOAuthError(error) === undefined) throw error;
      this.#refreshToken = undefined;
      return undefined;
    }
  }

  async #obtain(server: TokenServer, signal: AbortSignal): Promise<Token> {
    const scope = this.#scopes.join(" ");
    const { authorizationCode, deviceCode } = this.#use.secret;
    const { authorizationUrl } = server;
    if (authorizationCode !== undefined && authorizationUrl !== undefined) {
      const { obtainByCode } = await import("./authorization-code.js");
      return obtainByCode(
        this.#client,
        { server: { ...server, authorizationUrl }, scope, flow: authorizationCode },
        signal,
      );
    }
    if (deviceCode !== undefined) return this.#device.obtain(server, scope, signal);
    if (authorizationCode !== undefined) {
      throw new A2AError("unauthenticated", "the authorization server has no authorization endpoint");
    }
    const fields = { grant_type: "client_credentials", ...(scope === "" ? {} : { scope }) };
    return requestToken(this.#client, { url: server.tokenUrl, fields }, signal);
  }
}

interface SharedCall<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  waiters: number;
}

/** Runs one piece of work at a time for all callers that wait for it. Aborts it when the last one leaves. */
function shareWork<T>(work: (signal: AbortSignal) => Promise<T>): (signal: AbortSignal | undefined) => Promise<T> {
  let current: SharedCall<T> | undefined;

  function start(): SharedCall<T> {
    const stop = new AbortController();
    return { result: work(stop.signal), stop, waiters: 0 };
  }

  return async (signal) => {
    signal?.throwIfAborted();
    current ??= start();
    const call = current;
    call.waiters += 1;
    try {
      return await untilAborted(() => call.result, signal);
    } finally {
      call.waiters -= 1;
      if (call.waiters === 0) {
        if (current === call) current = undefined;
        call.stop.abort();
      }
    }
  };
}

const wellKnownPath = "/.well-known/openid-configuration";

/** Reads the endpoints of an OpenID Connect provider. Its issuer must match the URL. */
async function discover(environment: ServerEnvironment, url: string, signal: AbortSignal): Promise<TokenServer> {
  const call = { url, what: "OpenID Connect document" };
  const { status, json } = await requestServer(environment, call, signal);
  if (status !== 200 || json === undefined) throw answerError(call, status, "no JSON object");
  if (readText(json, "issuer", call).replace(/\/$/, "") + wellKnownPath !== url) {
    throw new A2AError(
      "unauthenticated",
      `the issuer of ${describeEndpoint(call)} is not the one that the URL belongs to`,
    );
  }
  const optional = (name: string): string | undefined => {
    const value = json[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  return {
    tokenUrl: readText(json, "token_endpoint", call),
    deviceAuthorizationUrl: optional("device_authorization_endpoint"),
    authorizationUrl: optional("authorization_endpoint"),
    issuer: optional("issuer"),
    answersWithIssuer: json["authorization_response_iss_parameter_supported"] === true,
  };
}
