import type { TlsOptions } from "node:tls";
import type { JsonObject } from "@bufbuild/protobuf";
import type { AuthOptions } from "../auth/auth-options.js";
import type { Requirements } from "../auth/requirements.js";
import type { CorsOptions } from "../binding/http/cors.js";
import type { CardOptions } from "../card/options.js";
import type { TrustProxy } from "../card/proxy.js";
import type { Agent } from "../core/agent.js";
import type { ConversationOptions } from "../core/conversation/log.js";
import type { Clock, PushStore, Signals, Store } from "../core/ports.js";
import type { Binding } from "../protocol/bindings.js";
import type { ServerContext } from "../protocol/context.js";
import type { Interceptor } from "../protocol/intercept.js";
import type { Logger } from "../protocol/logger.js";
import type { PushAllow } from "../push/policy.js";
import type { RateOptions } from "../rates/options.js";
import type { TelemetryOptions } from "../telemetry/options.js";
import type { FileBytes } from "../version/options.js";
import type { VersionName } from "../version/versions.js";
import type { Authenticate } from "./authentication.js";
import type { FormerLimits, Limits } from "./limits.js";

/** Wraps every call of a server. */
export type ServerInterceptor = Interceptor<ServerContext>;

/** Security schemes to list in the card of a server with `authenticate`. Trivium does not enforce them. */
export interface AuthDeclaration {
  /** Security schemes in the JSON form of a 1.0 card, by name (spec 4.5). */
  readonly schemes: Readonly<Record<string, JsonObject>>;
  /** Requirements of every call. Default: any one of the schemes. */
  readonly require?: Requirements | undefined;
  /** Additional requirements of messages to a skill, by the skill's id. Default: none. */
  readonly skills?: Readonly<Record<string, Requirements>> | undefined;
}

/** Options that agents and gateways share: bindings, authentication, limits. */
export interface BaseServerOptions {
  /**
   * Bindings to mount, in the card's order of preference. Nothing else is served. Default: `"JSONRPC"`, `"GRPC"` and
   * `"HTTP+JSON"`; then Connect and gRPC-Web are served too, but not on the card. An unknown name is a `TypeError`.
   */
  readonly bindings?: readonly Binding[] | undefined;
  /**
   * Authentication by security schemes, which are listed in the card and checked for every call (spec 4.5, 7.3).
   * Default: no authentication, and all callers share the same tasks.
   */
  readonly auth?: AuthOptions | undefined;
  /** Your own authentication instead of `auth`: identifies the caller of each call. Default: none. */
  readonly authenticate?: Authenticate | undefined;
  /** Security schemes and requirements to list in the card beside `authenticate`, which checks them. Default: none. */
  readonly securityDeclaration?: AuthDeclaration | undefined;
  /** @deprecated Write `securityDeclaration`. 0.3 refuses this name. */
  readonly declares?: AuthDeclaration | undefined;
  /**
   * Wrap every call, over every binding and in process; the first is the outermost. Use them for audit, authorization,
   * or to change requests. They run once a call is authenticated and decoded, and also see calls that `auth.operations`
   * or `auth.skills` refuses. Default: none.
   */
  readonly interceptors?: readonly ServerInterceptor[] | undefined;
  /**
   * Confirms that all callers share all tasks. Without `anonymous`, `auth` or `authenticate`, `serve` rejects a host
   * that other machines reach, and a mounted agent logs a warning.
   */
  readonly anonymous?: "shared" | undefined;
  /**
   * Receives log records; `false` for none. Default: stderr, readable on a terminal and as lines of JSON elsewhere,
   * from the level in `TRIVIUM_LOG` on (`debug`, `info`, `warn`, `error`, `silent`), else `info`.
   */
  readonly logger?: Logger | false | undefined;
  /**
   * Logs each call when it ends, as one record at `info`: operation, binding, version, owner, code, duration, bytes,
   * and the events of a stream. Default: false.
   */
  readonly accessLog?: boolean | undefined;
  /**
   * OpenTelemetry: spans, metrics, and trace ids in log records. `true` requires the package `@opentelemetry/api`,
   * `false` turns telemetry off. Default: on if an SDK of OpenTelemetry was started before the server.
   */
  readonly telemetry?: boolean | TelemetryOptions | undefined;
  /**
   * Limits that differ from their defaults; see docs/reference/limits.md. An unknown name is a `TypeError`. Default:
   * `{}`.
   */
  readonly limits?: (Partial<Limits> & FormerLimits) | undefined;
  /**
   * Rate limits per owner, tenant and address: requests, new tasks, bytes, tokens, turns and streams. Processes on one
   * PostgreSQL store share the counts. Next to `agents`, they count the calls of all agents together. Default: none,
   * and 300 failed attempts to authenticate from an address in a minute.
   */
  readonly rate?: RateOptions | undefined;
  /** Protocol versions to serve, or settings for them. Default: every supported protocol version. */
  readonly versions?: readonly VersionName[] | VersionSettings | undefined;
  /**
   * Additional hosts that requests may name: host names, `*.example.org`, addresses and CIDR blocks. Checked only
   * without authentication: on a port that only this machine reaches, and, at a mount without `trustProxy`, for calls
   * from this machine. Loopback names and the host of `publicUrl` are always allowed. Default: none.
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Allows pages of other origins to call the agent. Default: off. */
  readonly cors?: CorsOptions | undefined;
  /** Base URL of the agent as callers see it: `https://agents.example/port`. Default: derived from each request. */
  readonly publicUrl?: string | undefined;
  /**
   * `host:port` of gRPC from outside, or `https://host:port`; the card shows it unchanged. Default: that of the public
   * URL.
   */
  readonly publicGrpc?: string | undefined;
  /** Proxies whose forwarding headers are trusted: all, or those in a list of CIDR blocks. Default: none. */
  readonly trustProxy?: TrustProxy | undefined;
  /** Path prefix of all routes: `/agent`. Default: none. */
  readonly basePath?: string | undefined;
  /** Time, for tests. Default: the machine's time. */
  readonly clock?: Clock | undefined;
}

/** @deprecated Use `BaseServerOptions`. */
export type HostOptions = BaseServerOptions;

/** Options of an agent, for `serve` and `createAgent`. */
export interface AgentOptions extends BaseServerOptions {
  /** Name, description and version are enough; the rest is generated from what is running. */
  readonly card: CardOptions;
  /** The agent: an async generator of events, or an async function. */
  readonly agent: Agent;
  /**
   * Identifies the agent on a `store` that several agents share: each needs its own id, and sees, resumes and runs only
   * its own tasks. All replicas of an agent use the same id. It is stored with every task, so do not change it: an
   * agent does not find tasks under another id. At most 64 bytes in UTF-8, else `serve()` rejects. Default: `""`.
   */
  readonly agentId?: string | undefined;
  /**
   * Whether it is safe to run a turn again. If a process dies or shuts down during a turn, a process on the same store
   * then starts the turn again, at most three times after a crash; `attempt` counts the crashes. Default: false, and
   * the task fails.
   */
  readonly restartable?: boolean | undefined;
  /**
   * Whether a caller's deadline also ends the turn. `"wait"`: it ends only the call. The task continues, and can be
   * read and subscribed to. `"abort"`: it also aborts the turn that the call started, and the task fails, unless the
   * call has `returnImmediately`. Choose `"abort"` if the work is worthless after the deadline. Calls that such a turn
   * makes to other agents of the server get the rest of the caller's time. Calls between agents of one server are
   * always handled as with `"abort"`. Default: `"wait"`.
   */
  readonly deadlines?: "wait" | "abort" | undefined;
  /** Names of the tenants; a request that names another is refused. Default: none. */
  readonly tenants?: readonly string[] | undefined;
  /**
   * Store of tasks, and of push configurations and hints if it supports them. It is opened before the server listens.
   * You close it, since several agents may share it (`agentId`). Default: in memory, lost with the process.
   */
  readonly store?: Store | undefined;
  /**
   * How much of each conversation is stored for `turn.conversation()` and `turn.context`: by default 1,000 entries of a
   * context, for 30 days after the last one. Direct replies are included; they are written right after the answer.
   * `false`: nothing is stored. Default: the defaults of `ConversationOptions`.
   */
  readonly conversations?: ConversationOptions | false | undefined;
  /** Push notifications (spec 4.3): allowed addresses, and events to send. Default: off. */
  readonly push?: PushOptions | undefined;
  /** Hints between servers that share a store. Default: those of the store, else within the process. */
  readonly signals?: Signals | undefined;
}

/** Which protocol versions a server serves, and how. */
export interface VersionSettings {
  /** Versions to serve; the card lists 1.0 and 0.3 of them. Default: every supported protocol version. */
  readonly served?: readonly VersionName[] | undefined;
  /** Requires callers to declare their version, and refuses 1.0 to those that declare none. Default: false. */
  readonly strict?: boolean | undefined;
  /**
   * How 0.3 encodes file bytes over gRPC and HTTP+JSON for callers that have not shown which form they use. Default:
   * `"base64"`.
   */
  readonly fileBytes?: FileBytes | undefined;
}

/** The version settings of an agent; a plain list names the served versions. */
export function versionSettings({ versions = {} }: BaseServerOptions): VersionSettings {
  return isList(versions) ? { served: versions } : versions;
}

function isList(versions: readonly VersionName[] | VersionSettings): versions is readonly VersionName[] {
  return Array.isArray(versions);
}

/** Which webhooks an agent may call, and which events it sends. */
export interface PushOptions {
  /** `"public"`: public internet addresses; `"loopback"`: this machine; or a list of hosts and CIDR blocks. */
  readonly allow: PushAllow;
  /**
   * Events of a task that are sent. `"milestones"`: each status and each complete artifact. `"all"`: every event,
   * including chunks. Default: `"milestones"`.
   */
  readonly events?: "all" | "milestones" | undefined;
  /** @deprecated Write `events: "all"`. 0.3 refuses this name. */
  readonly every?: "event" | undefined;
  /** Where push configurations are stored. Default: the store of the tasks, else memory. */
  readonly store?: PushStore | undefined;
}

/** Port, TLS and shutdown of a server. */
export interface ListenOptions {
  /** Port to listen on; 0 picks a free one. Default: `PORT` of the environment, else 41241. */
  readonly port?: number | undefined;
  /**
   * Address to listen on. Default: 127.0.0.1. A host that other machines reach needs `auth`, `authenticate` or
   * `anonymous: "shared"`.
   */
  readonly host?: string | undefined;
  /** A separate port for gRPC. Default: gRPC shares the port. */
  readonly grpcPort?: number | undefined;
  /**
   * Whether to serve gRPC reflection, for tools such as `grpcurl`. Callers need credentials that `auth` or `authenticate`
   * accepts. Default: true.
   */
  readonly reflection?: boolean | undefined;
  /** Key, certificate and related options. Default: no TLS. */
  readonly tls?: TlsOptions | undefined;
  /** A Koa app for all requests outside the protocol. Default: only health checks. */
  readonly app?: { callback(): (request: never, response: never) => unknown } | undefined;
  /**
   * How long the server still accepts work after it starts to close, in milliseconds. Readiness and the gRPC health
   * service fail meanwhile, so that a load balancer sends callers elsewhere before any is refused: set it to twice the
   * balancer's check interval. Work is then refused for at least a second before the port closes, for balancers without
   * checks. Default: 0, work is refused at once.
   */
  readonly lameDuckMs?: number | undefined;
  /** How long turns may continue when the server closes, in milliseconds, after `lameDuckMs`. Default: 10 s. */
  readonly drainMs?: number | undefined;
  /**
   * Closes the server at SIGTERM, SIGINT, SIGHUP and, on Windows, Ctrl-Break, then ends the process with 0, or with 1
   * if it cannot be closed. A second signal, of whatever kind, ends the process at once. Several servers of one process
   * close together. If your program handles one of these signals itself, leave this off and call `close()`. Default:
   * false.
   */
  readonly handleSignals?: boolean | undefined;
}

/** An agent and the port to serve it on. */
export interface ServeOptions extends AgentOptions, ListenOptions {}

/**
 * One of several agents on a port. Its options override those next to `agents`, with three exceptions: `limits` are
 * merged by name, `interceptors` run inside those of the server, and `rate` applies in addition to that of the server.
 */
export interface ServedAgentOptions
  extends Omit<AgentOptions, "store" | "signals" | "clock" | "trustProxy" | "allowedHosts" | "basePath"> {
  /**
   * Identifies the agent in the store; no two agents may share one. It is stored with every task, so set it before you
   * change the path of an agent. Default: the path without the slash, as `"weather"`.
   */
  readonly agentId?: string | undefined;
  /**
   * Host names of this agent alone: every request to them is for it, and gRPC calls need not name the agent. gRPC
   * reaches an agent with its own authentication only through `hosts` or `grpcPort`; the same holds for gRPC calls in
   * 0.3. Default: none.
   */
  readonly hosts?: readonly string[] | undefined;
  /** A port of its own for gRPC. Default: none, and gRPC shares the server's port. */
  readonly grpcPort?: number | undefined;
}

/**
 * Several agents on one port, with one store and one lifecycle. Options next to `agents` apply to every agent: `auth`,
 * `limits`, `push`, …. `rate` counts the calls of all agents together. `publicUrl` and `basePath` are those of the
 * server; the path of an agent follows them.
 */
export interface ServeAgentsOptions extends Omit<AgentOptions, "card" | "agent" | "agentId">, ListenOptions {
  /** The agents by their paths, each of one segment: `/weather`. `"/"` is the agent at the root. */
  readonly agents: Readonly<Record<string, ServedAgentOptions>>;
  /**
   * Lists the agents at `/.well-known/agents`, as JSON and as a page. Agents that require a sign-in are listed only for
   * callers that have one. Default: false.
   */
  readonly catalogue?: boolean | undefined;
}

/** Whether an agent says by itself who may call it. */
export function hasOwnAuth({ auth, authenticate, anonymous }: BaseServerOptions): boolean {
  return auth !== undefined || authenticate !== undefined || anonymous !== undefined;
}
