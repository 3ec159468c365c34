import type { Binding } from "./bindings.js";

/** Where a call came in: by a binding, or from a caller in the same process. */
export type CallOrigin = Binding | "in-process";

/** Who is asking: what `authenticate` says of a caller. Everything stored belongs to one owner of one tenant. */
export interface Principal {
  readonly owner: string;
  /** Default: the tenant without a name. */
  readonly tenant?: string | undefined;
  /** Whatever else the application wants to know of the caller; handed to the agent as `turn.principal`. */
  readonly [claim: string]: unknown;
}

/** What every store call is limited to: one owner of one tenant at one agent. */
export interface Scope {
  /** Which agent of the store it is, as its host says (`agentId`); `""` unless several agents share the store. */
  readonly agent: string;
  readonly tenant: string;
  readonly owner: string;
}

/** The caller of a turn that no call has started: what is stored of it. */
export function storedPrincipal({ tenant, owner }: Scope): Principal {
  return { tenant, owner };
}

/** What a server's operation knows of its call, beside the request message. */
export interface ServerContext {
  readonly principal: Principal;
  readonly binding: CallOrigin;
  /** Protocol version of the call. A task and a push configuration remember it. */
  readonly version: string;
  /** Extension URIs that the caller wants activated for this call (spec 4.6). */
  readonly extensions: readonly string[];
  /** The id of the last event that the caller has seen: `Last-Event-ID`. */
  readonly after: string | undefined;
  /** The address that the caller used, where the binding knows it. */
  readonly caller: CallAddress | undefined;
  /** What the caller calls the task of the call, in versions where callers name their tasks. A new task gets this name. */
  readonly taskName: string | undefined;
  /** Aborts when the caller has gone or its deadline has passed. Made when first asked for. */
  readonly signal: AbortSignal;
}

/** The address that a caller used, as far as the request shows it. */
export interface CallAddress {
  readonly secure: boolean;
  readonly remoteAddress: string | undefined;
  /** A header or metadata value by its lower-case name; `host` is the authority that was called. */
  header(name: string): string | undefined;
}

/** A `ServerContext` as its binding holds it. */
export interface OpenContext extends ServerContext {
  /** Signals the operation that the caller no longer waits for its answer. */
  leave(reason?: unknown): void;
}

type CallFacts = Omit<ServerContext, "signal" | "caller" | "taskName"> & {
  readonly caller?: CallAddress | undefined;
  readonly taskName?: string | undefined;
};

/** Makes the context of one call. The abort signal costs nothing until an operation asks for it. */
export function createContext(call: CallFacts): OpenContext {
  return new CallContext(call);
}

/** The context of a call with something said otherwise. */
export function changedContext(
  context: ServerContext,
  changes: Partial<Pick<ServerContext, "after" | "taskName">>,
): ServerContext {
  const { principal, binding, version, extensions, after, caller, taskName } = context;
  return {
    ...{ principal, binding, version, extensions, after, caller, taskName, ...changes },
    // Made only when it is asked for.
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
  readonly taskName: string | undefined;
  #controller: AbortController | undefined;
  #left = false;
  #reason: unknown;

  constructor(call: CallFacts) {
    this.principal = call.principal;
    this.binding = call.binding;
    this.version = call.version;
    this.extensions = call.extensions;
    this.after = call.after;
    this.caller = call.caller;
    this.taskName = call.taskName;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#left) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  leave(reason?: unknown): void {
    if (this.#left) return;
    this.#left = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}

/** What a client's call may carry beside the request message. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Limit of the whole call in milliseconds. Default: none. */
  readonly timeoutMs?: number | undefined;
  /** Extra headers or gRPC metadata. Names are compared without case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Added to the URL by the bindings that have one: an API key that goes there. */
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** Extension URIs to activate. */
  readonly extensions?: readonly string[] | undefined;
  /** The id of the last event seen, to go on behind it. */
  readonly after?: string | undefined;
}
