import type { CredentialOptions, CredentialProvider } from "../auth/credential-options.js";
import type { ClientTls } from "../binding/fetch/client-tls.js";
import type { Clock } from "../protocol/async/clock.js";
import type { CallOptions } from "../protocol/context.js";
import type { Interceptor } from "../protocol/intercept.js";
import type { Logger } from "../protocol/logger.js";
import type { TelemetryOptions } from "../telemetry/options.js";
import type { FileBytes } from "../version/options.js";
import type { VersionName } from "../version/versions.js";
import type { CardCache } from "./card/card-cache.js";
import type { Connection } from "./connection.js";
import type { RetryNotice, RetryOptions } from "./retrying.js";
import type { TransportFactory } from "./transports.js";

/** Limits of a client. */
export interface ClientLimits {
  /** Size of an agent card in bytes. Default: 1 MiB. */
  readonly cardMaxBytes: number;
  /** Time limit for fetching an agent card in milliseconds, including redirects. Default: 10,000. */
  readonly cardTimeoutMs: number;
  /**
   * Size of a reply, and of one event of a stream, in bytes. It may contain one JSON value for every 32 bytes, and at
   * least 250,000. Default: 32 MiB.
   */
  readonly replyMaxBytes: number;
  /** Time limit for establishing a connection in milliseconds. Default: 5,000. */
  readonly connectTimeoutMs: number;
  /**
   * Consecutive breaks after which a stream fails. 6 s of connection restore one attempt, and an event restores most of
   * one. Default: 5.
   */
  readonly streamBreaksMax: number;
  /** First polling interval in milliseconds for agents that cannot stream; it grows to ten times that. Default: 500. */
  readonly pollMs: number;
  /**
   * Time between two pings on a gRPC connection with open calls, in milliseconds; `Infinity` for none. Pings detect a
   * connection that was lost without notice, so that its streams resume. Most gRPC servers close a connection that is
   * pinged more often than every 5 minutes (`too_many_pings`); Trivium accepts any interval. Default: 330,000.
   */
  readonly grpcKeepaliveMs: number;
  /** Time limit of the answer to a ping, in milliseconds; after it the connection counts as lost. Default: 20,000. */
  readonly grpcKeepaliveTimeoutMs: number;
}

/** Limits that no option changes, in milliseconds. */
export interface FixedClientLimits {
  /**
   * Time limit for the first answer of an unused interface to a read, or to the `GetTask` that precedes a message, while
   * the card lists others.
   */
  readonly probeTimeoutMs: number;
  /**
   * Time limit for a subscription's first task, and for silence on a stream without event ids; then the task is read
   * instead.
   */
  readonly snapshotTimeoutMs: number;
}

export const fixedClientLimits: FixedClientLimits = { probeTimeoutMs: 10_000, snapshotTimeoutMs: 5_000 };

export const defaultClientLimits: ClientLimits = {
  cardMaxBytes: 1024 * 1024,
  cardTimeoutMs: 10_000,
  replyMaxBytes: 32 * 1024 * 1024,
  connectTimeoutMs: 5_000,
  streamBreaksMax: 5,
  pollMs: 500,
  grpcKeepaliveMs: 330_000,
  grpcKeepaliveTimeoutMs: 20_000,
};

/**
 * Wraps every call of a client, once for all its attempts. It may answer instead of the agent; an error that it throws
 * fails the call.
 */
export type ClientInterceptor = Interceptor<CallOptions>;

/**
 * An authorization that a task waits for (spec 7.6). It comes from the agent, so let the user decide whether to follow
 * it.
 */
export interface AuthorizationPrompt {
  /** The task that waits. */
  readonly taskId: string;
  /** Its context. */
  readonly contextId: string;
  /** The agent's explanation for people; `""` without one. */
  readonly text: string;
  /**
   * The page to open: https, or http on this machine. `undefined` for an agent without the authorization extension,
   * whose text says what to do.
   */
  readonly url: string | undefined;
  /** A code to enter there. */
  readonly userCode: string | undefined;
  /** Scopes that the agent asks for; empty if it names none. */
  readonly scopes: readonly string[];
}

/** Options of a client: choice of interfaces, credentials, retries and defaults of its calls. */
export interface ClientOptions {
  /**
   * Bindings in order of preference: `JSONRPC`, `GRPC`, `HTTP+JSON`, `CONNECT`, or another binding's URI. A newer
   * version takes precedence over a preferred binding. Default: the card's order.
   */
  readonly prefer?: readonly string[] | undefined;
  /**
   * Protocol versions that may be used. Agents that serve none of them are not called. Cards of every version are read.
   * Default: every supported protocol version.
   */
  readonly versions?: readonly VersionName[] | undefined;
  /**
   * How file bytes are sent to agents of 0.3 over gRPC and HTTP+JSON, whose implementations disagree. Default:
   * `"base64"`.
   */
  readonly fileBytes?: FileBytes | undefined;
  /** Secrets for the card's security schemes by scheme name, or a function that returns each call's credential. */
  readonly credentials?: CredentialOptions | CredentialProvider | undefined;
  /**
   * Called when a task waits for an authorization out of band, once for each request: open the page, or show the code.
   * The stream continues when it returns, and `send` resolves after the authorization if the agent waits for it. An
   * error that it throws fails the call. Default: none, and `send` resolves with the state `"auth-required"`.
   */
  readonly onAuthRequired?: ((prompt: AuthorizationPrompt) => void | Promise<void>) | undefined;
  /**
   * Errors in OpenTelemetry spans. `exceptions: "type"` leaves out their messages, which may contain texts of users and
   * agents. Only the client for Node has spans. Default: `{ exceptions: "full" }`.
   */
  readonly telemetry?: Pick<TelemetryOptions, "exceptions"> | undefined;
  /** Headers, or gRPC metadata, of every call and of card requests. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Extensions to activate in every call. */
  readonly extensions?: readonly string[] | undefined;
  /** Activates the idempotent-send extension at agents that list it, so that messages can be retried. Default: true. */
  readonly sendOnce?: boolean | undefined;
  /**
   * Time limit of each call in milliseconds, including all attempts; a call's own limit takes precedence. Default:
   * none.
   */
  readonly timeoutMs?: number | undefined;
  /** Retries of calls that are safe to repeat; `false` disables them. Default: the defaults of `RetryOptions`. */
  readonly retry?: RetryOptions | false | undefined;
  /** Called before each pause between two attempts of a call or of the search for the card. Default: none. */
  readonly onRetry?: ((notice: RetryNotice) => void) | undefined;
  /** Wrap every call; the first is the outermost. Default: none. */
  readonly interceptors?: readonly ClientInterceptor[] | undefined;
  /** Additional bindings, under their URIs in cards. A built-in name replaces that binding. */
  readonly transports?: readonly TransportFactory[] | undefined;
  /** Called with the first connection, and whenever it changes. */
  readonly onConnection?: ((connection: Connection) => void) | undefined;
  /**
   * Whether to use the extended card if the agent has one for this caller (spec 3.1.11). Default: when credentials are
   * set.
   */
  readonly extendedCard?: boolean | undefined;
  /** Cache of agent cards. Default: one cache for all clients of the process. `false` disables caching. */
  readonly cardCache?: CardCache | false | undefined;
  /**
   * Addresses that cards and redirects may name. `true`: any. `false`: only public internet addresses, also for the
   * card itself. Default: public addresses, the address of the card if the caller named it, and loopback if the card
   * came from there.
   */
  readonly allowPrivate?: boolean | undefined;
  /**
   * Origins that get secrets in addition to the host of the card, such as `https://grpc.agent.example`. Secrets are
   * credentials, and headers and query parameters that are an API key of the card or are named like one
   * (`authorization`, `cookie`, `x-api-key`). Interfaces elsewhere are not called with secrets. The hosts of a card
   * passed as an object get them. Default: none.
   */
  readonly trustedOrigins?: readonly string[] | undefined;
  /** Allows secrets over plaintext to other machines. Default: false. */
  readonly allowPlaintext?: boolean | undefined;
  /** Certificates, on platforms that let a program choose them. */
  readonly tls?: ClientTls | undefined;
  /**
   * Whether gRPC addresses without a scheme are called over TLS. Default: when the card was fetched over TLS or passed
   * as an object.
   */
  readonly grpcTls?: boolean | undefined;
  /** Limits that differ from their defaults. Default: `{}`. */
  readonly limits?: Partial<ClientLimits> | undefined;
  /**
   * Used for HTTP calls. It decides which addresses it calls; `allowPrivate` does not apply to it. Default: the
   * platform's own.
   */
  readonly fetch?: typeof fetch | undefined;
  /**
   * Logs at `debug`, once each, which members of the agent's answers are left out because they cannot be read, such as
   * an invalid `timestamp`. Default: none.
   */
  readonly logger?: Logger | false | undefined;
  /** Time, for tests. Default: the machine's time. */
  readonly clock?: Clock | undefined;
}

/** Options of `Client.connect()`. */
export interface ConnectOptions extends ClientOptions {
  /** Aborts the search for the card. */
  readonly signal?: AbortSignal | undefined;
}
