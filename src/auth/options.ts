import type { Clock } from "../protocol/async/clock.js";
import type { A2AError } from "../protocol/errors.js";
import type { Fetch } from "../protocol/fetch.js";
import type { AgentCard } from "../protocol/model.js";
import type { Credential } from "./credentials.js";

/**
 * What a client has to show, by the names of the security schemes in the agent's card. Two short names: `bearer` is the
 * card's only HTTP bearer scheme and `apiKey` its only API key, unless the card has a scheme of that very name. Names that
 * the card does not know are left alone.
 */
export interface CredentialOptions {
  readonly [scheme: string]: Secret | undefined;
}

/**
 * A string is an API key or a bearer token (also for OAuth2 and OpenID Connect schemes). A function gives one that
 * changes: it is asked for every call, and once more after a refusal.
 */
export type Secret = string | (() => string | Promise<string>) | BasicSecret | OAuthSecret;

/** For HTTP basic authentication. */
export interface BasicSecret {
  readonly username: string;
  readonly password: string;
}

/** For OAuth2 and OpenID Connect: with `deviceCode` the device code flow, else the client credentials flow. */
export interface OAuthSecret {
  readonly clientId: string;
  /** Default: none; the client names itself by its id alone. */
  readonly clientSecret?: string | undefined;
  /** Shows the user where to agree. Polling begins when it has returned; what it throws fails the call. */
  readonly deviceCode?: ((prompt: DeviceCodePrompt) => void | Promise<void>) | undefined;
  /** The scopes to ask for; nothing can widen them. Default: those of the card's requirement, and what a refusal adds. */
  readonly scopes?: readonly string[] | undefined;
  /** How the token endpoint is shown the client's secret. Default: `client_secret_basic`. */
  readonly authentication?: "client_secret_basic" | "client_secret_post" | undefined;
  /** Further fields of the token request, such as `audience` or `resource`. Default: none. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /** The only origins that are asked for tokens, and so may see the secret: `https://login.example`. Default: the origin that the card was read from; none for a card that the caller brings along. */
  readonly trustedOrigins?: readonly string[] | undefined;
}

/** What a user needs to agree on another device. */
export interface DeviceCodePrompt {
  readonly verificationUri: string;
  /** The same with the code filled in. */
  readonly verificationUriComplete?: string | undefined;
  readonly userCode: string;
  /** How long the code is good for, in milliseconds. */
  readonly expiresInMs: number;
}

/**
 * Gives the credential itself. Called for every call, and once more with the error when the agent refused what it gave;
 * `undefined`: go without, or give up.
 */
export type CredentialProvider = (context: {
  readonly card: AgentCard;
  readonly refused?: A2AError | undefined;
  readonly signal?: AbortSignal | undefined;
}) => Credential | undefined | Promise<Credential | undefined>;

/** What credentials are made with. */
export interface CredentialEnvironment {
  /** Calls authorization servers. */
  readonly fetch: Fetch;
  /** Where the card was read from; `undefined`: the caller has brought it along. */
  readonly cardUrl?: string | undefined;
  /** Its timers keep the process alive. Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** Secrets may go to authorization servers without TLS that are not on this machine. Default: false. */
  readonly allowPlaintext?: boolean | undefined;
  /** The connection shows a client certificate, which meets mTLS schemes. Default: false. */
  readonly certificates?: boolean | undefined;
  /** Limit of one request to an authorization server, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number | undefined;
}
