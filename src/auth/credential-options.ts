import type { Clock } from "../protocol/async/clock.js";
import type { A2AError } from "../protocol/errors.js";
import type { Fetch } from "../protocol/fetch.js";
import type { AgentCard } from "../protocol/model.js";
import type { Credential } from "./credentials.js";

/**
 * The client's secrets, by the names of the security schemes in the agent's card. Three short names also work: `bearer`
 * for the card's only HTTP bearer scheme, `apiKey` for its only API key scheme, and `oauth` for its only OAuth2 or
 * OpenID Connect scheme, unless the card has a scheme of that name. Names that the card lacks are ignored.
 */
export interface CredentialOptions {
  readonly [scheme: string]: Secret | undefined;
}

/**
 * The secret of a scheme. A string is an API key or a bearer token, also for OAuth2 and OpenID Connect. A function
 * returns the current secret: it is called for every call, and once more after a refusal.
 */
export type Secret = string | (() => string | Promise<string>) | BasicSecret | OAuthSecret;

/** User name and password for HTTP basic authentication. */
export interface BasicSecret {
  /** The user. */
  readonly username: string;
  /** The password. */
  readonly password: string;
}

/**
 * A client for OAuth2 and OpenID Connect. Uses the authorization code flow with `authorizationCode`, the device code
 * flow with `deviceCode`, with both whichever the card names, and the client credentials flow without them.
 */
export interface OAuthSecret {
  /** Id of the client at the authorization server. */
  readonly clientId: string;
  /** Secret of the client. Default: none, for a public client. */
  readonly clientSecret?: string | undefined;
  /**
   * Shows the user where to approve. Polling starts after it returns; an error it throws fails the call. Default: none,
   * and the client credentials flow is used.
   */
  readonly deviceCode?: ((prompt: DeviceCodePrompt) => void | Promise<void>) | undefined;
  /** Sends the user's browser to the authorization server, with PKCE (RFC 7636). Default: none. */
  readonly authorizationCode?: AuthorizationCodeFlow | undefined;
  /** Stores the tokens beyond this client. Default: in memory. */
  readonly tokenStore?: TokenStore | undefined;
  /** Scopes to request, and no others. Default: those of the card's requirement, plus those that a refusal asks for. */
  readonly scopes?: readonly string[] | undefined;
  /** How the client's secret is sent to the token endpoint. Default: `client_secret_basic`. */
  readonly authentication?: "client_secret_basic" | "client_secret_post" | undefined;
  /**
   * Additional fields of the token request and of the authorization URL, such as `audience` or `resource`. Default:
   * none.
   */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /**
   * The only origins that get the secret and are asked for tokens, such as `https://login.example`. Default: the origin
   * that the card was read from; none for a card passed as an object.
   */
  readonly trustedOrigins?: readonly string[] | undefined;
}

/**
 * Opens `urlFor(redirectUri)` in a browser, and returns the URL to which the browser was sent back: `redirectUri` with
 * its query. The client checks `state` and `iss`. An error that it throws fails the call.
 */
export type AuthorizationCodeFlow = (request: AuthorizationCodeRequest) => Promise<string>;

/** A request for the user's authorization. */
export interface AuthorizationCodeRequest {
  /** Returns the page of the authorization server that sends the browser back to `redirectUri`. */
  readonly urlFor: (redirectUri: string) => string;
  /** Aborts when no call waits for the token anymore. */
  readonly signal: AbortSignal;
}

/** Stores tokens. They are secrets: whoever has them can call as the user. */
export interface TokenStore {
  /** Returns the tokens saved last; `undefined` without any. */
  load(): StoredTokens | undefined | Promise<StoredTokens | undefined>;
  /** Called with each new token. */
  save(tokens: StoredTokens): void | Promise<void>;
}

/** Tokens of an authorization server. */
export interface StoredTokens {
  /** The token endpoint that issued them. They are used with no other. */
  readonly tokenUrl: string;
  /** The bearer token. */
  readonly accessToken: string;
  /** When to request a new one, in milliseconds since the epoch. Default: after a refusal. */
  readonly staleAt?: number | undefined;
  /** Renews the token. Default: none. */
  readonly refreshToken?: string | undefined;
  /** Scopes that were requested. */
  readonly scopes: readonly string[];
}

/** The code and the URL for approval on another device (RFC 8628). */
export interface DeviceCodePrompt {
  /** Where the user enters the code. */
  readonly verificationUri: string;
  /** The same with the code filled in. */
  readonly verificationUriComplete?: string | undefined;
  /** The code to enter. */
  readonly userCode: string;
  /** Lifetime of the code in milliseconds. */
  readonly expiresInMs: number;
}

/**
 * Returns the credential of a call. Called for every call, and once more with the error if the agent refused the
 * previous one. `undefined`: no credential, or no retry.
 */
export type CredentialProvider = (context: {
  readonly card: AgentCard;
  readonly refused?: A2AError | undefined;
  readonly signal?: AbortSignal | undefined;
}) => Credential | undefined | Promise<Credential | undefined>;

/** The `fetch`, clock and policies that credentials use. */
export interface CredentialEnvironment {
  /** Calls authorization servers. */
  readonly fetch: Fetch;
  /** Where the card was read from; `undefined` if the caller passed it as an object. */
  readonly cardUrl?: string | undefined;
  /** Its timers keep the process alive. Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** Whether secrets may be sent without TLS to authorization servers on other machines. Default: false. */
  readonly allowPlaintext?: boolean | undefined;
  /** Whether the connection presents a client certificate, which satisfies mTLS schemes. Default: false. */
  readonly certificates?: boolean | undefined;
  /** Time limit of one request to an authorization server, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number | undefined;
}
