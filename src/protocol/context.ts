import type { Binding } from "./bindings.js";
import type { Message } from "./model.js";
import type { OperationName } from "./operations.js";
import type { Slot } from "./slots.js";
import type { Trace } from "./telemetry/trace.js";

/** Origin of a call: a binding, or this process. */
export type CallOrigin = Binding | "in-process";

/** The caller as identified by `authenticate`. Each task belongs to one owner of one tenant. */
export interface Principal {
  /** Whose tasks the caller sees: a stable id, such as the subject of a token. */
  readonly owner: string;
  /** Default: `""`, the unnamed tenant. */
  readonly tenant?: string | undefined;
  /** The security scheme that identified the caller. Set by `auth`. */
  readonly scheme?: string | undefined;
  /** The scopes that its credential grants. Set by `auth`. */
  readonly scopes?: readonly string[] | undefined;
  /** Other claims of its credential, such as those of a token. Set by `auth`. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
  /** Members that the application adds. The agent gets them in `turn.principal`. */
  readonly [name: string]: unknown;
}

/** A caller that its headers have identified. */
export interface IdentifiedCaller {
  readonly principal: Principal;
  /**
   * Called once the request is decoded: throws `unauthenticated` or `permissionDenied` when this operation, or the
   * skill that a message is for, requires more of the caller. Absent when nothing does.
   */
  readonly authorize?: ((operation: OperationName, message: Message | undefined) => void) | undefined;
  /**
   * Called when a message is sent to a task, with the callers' earlier messages of the task. Throws `unauthenticated` or
   * `permissionDenied` when the skill of one of them requires more of the caller. `undefined`: the earlier messages are
   * unknown and may be for any skill. Absent when no skill requires anything.
   */
  readonly authorizeAnswer?: ((earlier: readonly Message[] | undefined) => void) | undefined;
}

/** Facts that a turn passes on with calls to other agents of its process. */
export interface CallChain {
  /** Paths of the agents whose turns have led to the call, the first one first. */
  readonly via: readonly string[];
  /** Holds further calls of the same caller to what they require. Default: nothing is required of it. */
  readonly authorize?: IdentifiedCaller["authorize"];
  readonly authorizeAnswer?: IdentifiedCaller["authorizeAnswer"];
}

/** A client certificate (RFC 5280). */
export interface PeerCertificate {
  /** The subject as a distinguished name, such as `CN=weather,O=Example`; a comma in a value is `\,` (RFC 2253). */
  readonly subject: string;
  /** Subject alternative names, such as `URI:spiffe://example/weather` and `DNS:weather.example`. */
  readonly names: readonly string[];
  /** The certificate in DER, if this process has it. A proxy may report the names alone. */
  readonly raw: Uint8Array | undefined;
}

/** The scope of every store call: one owner of one tenant at one agent. */
export interface Scope {
  /** The agent's name in the store (`agentId`); `""` unless several agents share the store. */
  readonly agent: string;
  readonly tenant: string;
  readonly owner: string;
}

/** Restores the principal of a turn that no call started, from its stored scope and message. */
export function restorePrincipal(
  { tenant, owner }: Scope,
  { principal }: { readonly principal?: object | undefined },
): Principal {
  return { ...principal, tenant, owner };
}

/** Returns a header or metadata value by its lower-case name. */
export type ReadHeader = (name: string) => string | undefined;

/** Limits of callers (`rate`) that only the operation can apply to a call. */
export interface CallQuota {
  /** The slots of a turn that the call starts. */
  readonly turns: readonly Slot[];
  /**
   * Counts a new task, and returns a function that reverts the count. Throws `resourceExhausted`, or rejects with it.
   * Absent without such limits.
   */
  readonly newTask?: (() => (() => void) | Promise<() => void>) | undefined;
}

/** The bytes of a call in memory, beside those of its request and its reply. */
export interface CallMemory {
  /** Books bytes. Throws `resourceExhausted` or `unavailable` when a limit on bytes in memory is reached. */
  hold(bytes: number): void;
  release(bytes: number): void;
}

/** How far the work of a call has come. Its operation notes it; its binding reads it when the call fails. */
export interface CallProgress {
  /**
   * Whether work has begun that a second call would repeat: an agent has started, or a message may have reached its task.
   */
  begun: boolean;
}

/** The context of a server operation: everything about its call except the request message. */
export interface ServerContext {
  /** Who calls. */
  readonly principal: Principal;
  /** The binding of the call, or `"in-process"`. */
  readonly binding: CallOrigin;
  /** Protocol version of the call. Stored with its task or push configuration. */
  readonly version: string;
  /** Extension URIs that the caller requests (spec 4.6). */
  readonly extensions: readonly string[];
  /** The id of the last event the caller received: `Last-Event-ID`. */
  readonly after: string | undefined;
  /** The address that the caller used, if the binding knows it. */
  readonly caller: CallAddress | undefined;
  /** Reads the headers of the call, and keeps nothing else of its request. */
  readonly header: ReadHeader | undefined;
  /** The caller's name for the task, in versions where callers name their tasks. A new task gets this name. */
  readonly taskName: string | undefined;
  /** When the caller stops waiting, in milliseconds since 1970; `undefined` without a deadline. */
  readonly deadline?: number | undefined;
  /** The id of the request, in every record about it. `undefined` for a call that no binding brought. */
  readonly requestId: string | undefined;
  /** The trace of the call, where telemetry follows it. */
  readonly trace?: Trace | undefined;
  /** Limits that are left to the operation. Absent without `rate`, and for interceptors. */
  readonly quota?: CallQuota | undefined;
  /** Facts passed on within the process. `undefined` when there are none. */
  readonly chain?: CallChain | undefined;
  /** Books what the operation brings into memory from elsewhere, where a service asks for it. */
  readonly memory?: CallMemory | undefined;
  /** Where an operation that must not be repeated notes that its work has begun. */
  readonly progress: CallProgress;
  /** Aborts when the caller leaves or its deadline passes. Created on first use. */
  readonly signal: AbortSignal;
}

/** The address that a caller used, as far as the request shows it. */
export interface CallAddress {
  readonly secure: boolean;
  readonly remoteAddress: string | undefined;
  /** Where the program's server mounts the agent, as `/agents/a`. Default: `""`, the root. */
  readonly mountPath?: string | undefined;
  /** The request as the framework gave it, where the agent is mounted in one. */
  readonly native?: unknown;
  /** Returns a header or metadata value by its lower-case name. `host` is the authority that was called. */
  header(name: string): string | undefined;
}

/** The binding's own view of a `ServerContext`. */
export interface OpenContext extends ServerContext {
  /** Leaves these limits to the operation. Returns the same context. */
  limit(quota: CallQuota): ServerContext;
  /** Notifies the operation that the caller no longer waits for the reply. */
  leave(reason?: unknown): void;
}

type CallFacts = Omit<
  ServerContext,
  "signal" | "caller" | "header" | "taskName" | "requestId" | "quota" | "progress"
> & {
  readonly requestId?: string | undefined;
  readonly caller?: CallAddress | undefined;
  readonly header?: ReadHeader | undefined;
  readonly taskName?: string | undefined;
};

/** Creates the context of one call. The abort signal costs nothing until an operation reads it. */
export function createContext(call: CallFacts): OpenContext {
  return new CallContext(call);
}

/** Copies the context of a call with some members replaced. */
export function changeContext(
  context: ServerContext,
  changes: Partial<Pick<ServerContext, "after" | "taskName" | "quota">>,
): ServerContext {
  const { principal, binding, version, extensions, after, caller, header, taskName } = context;
  const { requestId, deadline, trace, quota, chain, memory, progress } = context;
  return {
    principal,
    binding,
    version,
    extensions,
    after,
    caller,
    header,
    taskName,
    requestId,
    deadline,
    trace,
    quota,
    chain,
    memory,
    progress,
    ...changes,
    // Created on first use.
    get signal() {
      return context.signal;
    },
  };
}

class CallContext implements OpenContext {
  readonly principal: Principal;
  readonly binding: CallOrigin;
  readonly version: string;
  readonly extensions: readonly string[];
  readonly after: string | undefined;
  readonly caller: CallAddress | undefined;
  readonly header: ReadHeader | undefined;
  readonly taskName: string | undefined;
  readonly requestId: string | undefined;
  readonly deadline: number | undefined;
  readonly trace: Trace | undefined;
  readonly chain: CallChain | undefined;
  readonly memory: CallMemory | undefined;
  readonly progress: CallProgress = { begun: false };
  #controller: AbortController | undefined;
  #hasLeft = false;
  #quota: CallQuota | undefined;
  #reason: unknown;

  constructor(call: CallFacts) {
    this.principal = call.principal;
    this.binding = call.binding;
    this.version = call.version;
    this.extensions = call.extensions;
    this.after = call.after;
    this.caller = call.caller;
    this.header = call.header;
    this.taskName = call.taskName;
    this.requestId = call.requestId;
    this.deadline = call.deadline;
    this.trace = call.trace;
    this.chain = call.chain;
    this.memory = call.memory;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#hasLeft) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  limit(quota: CallQuota): ServerContext {
    this.#quota = quota;
    return this;
  }

  get quota(): CallQuota | undefined {
    return this.#quota;
  }

  leave(reason?: unknown): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}

/** Options of a client call. */
export interface CallOptions {
  /** Aborts the call, which then rejects with the signal's reason. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Time limit of the whole call in milliseconds. Default: none. */
  readonly timeoutMs?: number | undefined;
  /** Extra headers or gRPC metadata. Names are case-insensitive. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Query parameters, such as an API key, for bindings that have a URL. */
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** Extension URIs to request. */
  readonly extensions?: readonly string[] | undefined;
  /** Id of the last event received; the stream resumes after it. */
  readonly after?: string | undefined;
}
