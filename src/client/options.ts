import type { CredentialOptions, CredentialProvider } from "../auth/options.js";
import type { ClientTls } from "../binding/fetch/client-tls.js";
import type { Caller } from "../binding/transport.js";
import type { Clock } from "../protocol/async/clock.js";
import type { FileBytes } from "../version/options.js";
import type { VersionName } from "../version/versions.js";
import type { CardCache } from "./card/card-cache.js";
import type { Connection } from "./connection.js";
import type { RetryOptions } from "./retrying.js";
import type { TransportFactory } from "./transports.js";

/** Limits of a client, each with its own name. */
export interface ClientLimits {
  /** Size of an agent card in bytes. Default: 1 MiB. */
  readonly cardMaxBytes: number;
  /** Time for an agent card in milliseconds, redirects included. Default: 10,000. */
  readonly cardTimeoutMs: number;
  /** Size of a reply, and of one event of a stream, in bytes. Default: 32 MiB. */
  readonly replyMaxBytes: number;
  /** Time for a connection to stand, in milliseconds. Default: 5,000. */
  readonly connectTimeoutMs: number;
  /** Time for the first answer of an interface that was never used, while the card lists others. Default: 10,000. */
  readonly probeTimeoutMs: number;
  /** Breaks of a stream in a row after which it fails. A connection makes up for one by lasting 6 s, and for most of one by an event. Default: 5. */
  readonly streamBreaksMax: number;
  /**
   * Time for the task with which a subscription begins, in milliseconds, and for silence on a stream without event ids: after
   * that the agent is asked for the task. Default: 5,000.
   */
  readonly snapshotTimeoutMs: number;
  /** First pause between two questions for a task, where the agent cannot stream; later ones grow to ten times it. Default: 500. */
  readonly pollMs: number;
}

export const defaultClientLimits: ClientLimits = {
  cardMaxBytes: 1024 * 1024,
  cardTimeoutMs: 10_000,
  replyMaxBytes: 32 * 1024 * 1024,
  connectTimeoutMs: 5_000,
  probeTimeoutMs: 10_000,
  streamBreaksMax: 5,
  snapshotTimeoutMs: 5_000,
  pollMs: 500,
};

/** Stands around every call of a client; the first one given is the outermost. */
export type Interceptor = (next: Caller) => Caller;

export interface ClientOptions {
  /** Bindings in the order of preference, `JSONRPC`, `GRPC`, `HTTP+JSON`, `CONNECT`, or the URI of another one. A newer version goes before a preferred binding. Default: the card's order. */
  readonly prefer?: readonly string[] | undefined;
  /** Versions of the protocol that may be spoken; with the newest alone an agent that has but older ones is not called. Cards of every version are read. Default: every supported protocol version. */
  readonly versions?: readonly VersionName[] | undefined;
  /** How the bytes of files are written to agents of 0.3 over gRPC and HTTP+JSON, which disagree on it. Default: `"base64"`. */
  readonly fileBytes?: FileBytes | undefined;
  /** Secrets for the security schemes of the card, by scheme, or a function that gives a call what it needs. */
  readonly credentials?: CredentialOptions | CredentialProvider | undefined;
  /** Headers, or gRPC metadata, of every call and of the requests for the card. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Extensions to activate in every call. */
  readonly extensions?: readonly string[] | undefined;
  /** Activates the idempotent-send extension for messages to an agent that lists it, so that they may be sent again. Default: true. */
  readonly sendOnce?: boolean | undefined;
  /** Limit of each call in milliseconds, all tries included, unless the call says another. Default: none. */
  readonly timeoutMs?: number | undefined;
  /** `false`: nothing is tried again. */
  readonly retry?: RetryOptions | false | undefined;
  readonly interceptors?: readonly Interceptor[] | undefined;
  /** Further bindings, under the URI that cards call them by. One under the name of a built-in binding replaces it. */
  readonly transports?: readonly TransportFactory[] | undefined;
  /** Hears how the agent is reached, first and whenever that changes. */
  readonly onConnection?: ((connection: Connection) => void) | undefined;
  /** Replaces the card by the extended one, where the agent has one for this caller. Default: when there are credentials. */
  readonly extendedCard?: boolean | undefined;
  /** Cards that were fetched before. Default: one cache for all clients of the process. `false`: none. */
  readonly cardCache?: CardCache | false | undefined;
  /** `true`: cards and redirects may name any address. `false`: only the internet is called, also for the card itself. Default: they may name the internet, the address that the card came from, when the caller named one, and loopback when it came from there. */
  readonly allowPrivate?: boolean | undefined;
  /** Lets secrets go over plain text to other machines. Default: false. */
  readonly allowPlaintext?: boolean | undefined;
  /** Certificates, where the platform lets a program choose them. */
  readonly tls?: ClientTls | undefined;
  /** Whether gRPC addresses without a scheme are called over TLS. Default: when the card came over TLS, or was given as an object. */
  readonly grpcTls?: boolean | undefined;
  readonly limits?: Partial<ClientLimits> | undefined;
  /** Calls over HTTP, and decides for itself which addresses it calls. Default: the platform's own. */
  readonly fetch?: typeof fetch | undefined;
  /** Default: the machine's time. */
  readonly clock?: Clock | undefined;
}
