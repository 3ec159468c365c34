import type { Clock } from "../protocol/async/clock.js";
import type { A2AError } from "../protocol/errors.js";
import type { Fetch } from "../protocol/fetch.js";
import type { AgentCard } from "../protocol/model.js";
import type { Credential } from "./credentials.js";

/**
 * The client's secrets by the names of the security schemes in the agent's card. Three short names exist: `bearer` for
 * the card's only HTTP bearer scheme, `apiKey` for its only API key scheme, and `oauth` for its only OAuth2 or OpenID
 * Connect scheme, unless the card has a scheme of that name. Names that the card does not have are ignored.
 */
export interface CredentialOptions {
  readonly [scheme: string]: Secret | undefined;
}

/**
 * A string is an API key or a bearer token (also for OAuth2 and OpenID Connect schemes). A function returns a changing
 * one: it is called for every call, and once more after a refusal.
 */
export type Secret = string | (() => string | Promise<string>) | BasicSecret | OAuthSecret;

/** For HTTP basic authentication. */
export interface BasicSecret {
  /** The user. */
  readonly username: string;
  /** The password. */
  readonly password: string;
}

/**
 * For OAuth2 and OpenID Connect: the authorization code flow with `authorizationCode`, the device code flow with
 * `deviceCode`, whichever the card names of both, and without them the client credentials flow.
 */
export interface OAuthSecret {
  /** The client as the authorization server knows it. */
  readonly clientId: string;
  /** Secret of the client. Default: none, and the client identifies itself only by its id. */
  readonly clientSecret?: string | undefined;
  /**
   * Shows the user where to approve. Polling starts after it returns; an error it throws fails the call. Default: none,
   * and the client credentials flow is used.
   */
  readonly deviceCode?: ((prompt: DeviceCodePrompt) => void | Promise<void>) | undefined;
  /** Sends the user's browser to the authorization server, with PKCE (RFC 7636). Default: none. */
  readonly authorizationCode?: AuthorizationCodeFlow | undefined;
  /** Keeps the tokens beyond this client. Default: they are kept in memory. */
  readonly tokenStore?: TokenStore | undefined;
  /**
   * Scopes to request; nothing can widen them. Default: those of the card's requirement, plus what a refusal asks for.
   */
  readonly scopes?: readonly string[] | undefined;
  /** How the client's secret is sent to the token endpoint. Default: `client_secret_basic`. */
  readonly authentication?: "client_secret_basic" | "client_secret_post" | undefined;
  /**
   * Additional fields of the token request and of the authorization URL, such as `audience` or `resource`. Default:
   * none.
   */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /**
   * The only origins that tokens are requested from, and which may see the secret, such as `https://login.example`.
   * Default: the origin that the card was read from; none for a card passed as an object.
   */
  readonly trustedOrigins?: readonly string[] | undefined;
}

/**
 * Opens `urlFor(redirectUri)` in a browser and returns the URL at which the browser was called back, with its query:
 * that of `redirectUri`. The client checks `state` and `iss`. What it throws fails the call.
 */
export type AuthorizationCodeFlow = (request: AuthorizationCodeRequest) => Promise<string>;

/** A request for the user's authorization. */
export interface AuthorizationCodeRequest {
  /** The page of the authorization server that sends the browser back to this URI. */
  readonly urlFor: (redirectUri: string) => string;
  /** Aborts when no call waits for the token any more. */
  readonly signal: AbortSignal;
}

/** A store of tokens. Tokens are secrets: with them, anyone can call in the user's name. */
export interface TokenStore {
  /** Returns the tokens that were saved last. */
  load(): StoredTokens | undefined | Promise<StoredTokens | undefined>;
  /** Called with each new token. */
  save(tokens: StoredTokens): void | Promise<void>;
}

/** Tokens of an authorization server. */
export interface StoredTokens {
  /** The token endpoint that issued them: they are used with no other. */
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

/** The code and the URL with which a user approves on another device. */
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
 * Returns the credential itself. Called for every call, and once more with the error when the agent refused the
 * previous one. `undefined` means none, or no retry.
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
