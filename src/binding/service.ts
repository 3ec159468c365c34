import type { Message as AnyMessage } from "@bufbuild/protobuf";
import type { Clock } from "../protocol/async/clock.js";
import type {
  CallAddress,
  CallOrigin,
  CallQuota,
  IdentifiedCaller,
  PeerCertificate,
  Principal,
  ReadHeader,
  ServerContext,
} from "../protocol/context.js";
import type { A2AError } from "../protocol/errors.js";
import type { Interception } from "../protocol/intercept.js";
import type { Operation, Operations } from "../protocol/operations.js";
import type { TaskNames } from "../protocol/task-names.js";
import type { CallTrace, TracedCall } from "../protocol/telemetry/follow.js";
import type { Version } from "../version/codec.js";
import type { CallMeter } from "./call-meter.js";

// The server as a binding sees it: admission, authentication, limits and the handler behind them.

/** A call before its body is read. */
export interface CallHead {
  readonly binding: CallOrigin;
  /** Reads the headers or the metadata, and keeps nothing else of the request: a turn may outlast its call by hours. */
  readonly header: ReadHeader;
  /** The query string without `?`, in bindings that have one. */
  readonly query?: string | undefined;
  /** The caller's network address, without the port. */
  readonly peer?: (() => string | undefined) | undefined;
  /** The certificate that the caller has shown over TLS, which has verified it. */
  readonly certificate?: (() => PeerCertificate | undefined) | undefined;
  /** When the caller stops waiting, in milliseconds since 1970. Default: never. */
  readonly deadline?: number | undefined;
  /** The address the call was sent to. */
  readonly address?: CallAddress | undefined;
  /** Paths of the agents of this process whose turns have led to the call. Absent for calls from outside. */
  readonly via?: readonly string[] | undefined;
}

/** Limits that a binding enforces, in bytes, counts or milliseconds. */
export interface BindingLimits {
  /** Size of a request in its binary form. Default: 4 MiB. */
  readonly contentMaxBytes: number;
  /** Size of a JSON body; larger than `contentMaxBytes`, because base64 is longer. Default: 6 MiB. */
  readonly jsonBodyMaxBytes: number;
  /**
   * Values and member names in one request, at all levels; in binary messages also nested messages, list entries and
   * unknown fields. Default: 250,000.
   */
  readonly jsonMaxValues: number;
  /** Silence on an event stream before a comment is sent. Default: 4 s. */
  readonly keepAliveMs: number;
}

/** A call that asks for admission. */
export interface EnteringCall {
  readonly principal: Principal;
  /**
   * The caller's network address, if the binding knows it. It distinguishes callers where there is no `authenticate`.
   */
  peer(): string | undefined;
  readonly header: ReadHeader;
  readonly streams: boolean;
  /** A turn of this process makes the call: while the server drains, it may end its work. */
  readonly isInside?: boolean | undefined;
}

/** A step of work yields this to end its turn, before work that the queue cannot measure. */
export const endOfTurn = Symbol("end of turn");

/** The admission of a call: books its bytes, and runs its large work. */
export interface AdmittedCall {
  /**
   * Books bytes of the request as they arrive. Throws as `hold` does, and `unavailable` for a large request in an
   * overload.
   */
  receive(bytes: number): void;
  /**
   * Books bytes of a reply that waits to be taken. Throws `resourceExhausted` or `unavailable` when a limit on bytes in
   * memory is reached.
   */
  hold(bytes: number): void;
  /** Releases so many bytes. Default: all. */
  release(bytes?: number): void;
  /** Runs large work step by step, each in the caller's turn, and resolves with what the last step returns. */
  work<T>(steps: Iterator<unknown, T>): Promise<T>;
  /** Ends the admission and releases the bytes. Calling it twice is harmless. */
  leave(): void;
}

/** A request and its id, which is read or created on first use. */
interface IdentifiedRequest {
  readonly requestId: string;
}

/** A call that has ended. */
export interface EndedCall extends IdentifiedRequest {
  readonly binding: CallOrigin;
  /** `undefined` if the call failed before its operation was known; so is the version. */
  readonly operation: Operation | undefined;
  readonly version: string | undefined;
  /** `undefined` for a caller that was refused. */
  readonly principal: Principal | undefined;
  readonly meter: CallMeter;
}

/** Observes the begin and the end of every call. */
export interface CallObserver {
  begin(): CallMeter;
  /** Follows calls with traces. Absent without telemetry. */
  trace?(call: TracedCall, meter: CallMeter): CallTrace;
  end(call: EndedCall): void;
}

/** The service at an address, and its versions. */
export interface AddressedService {
  readonly service: Service;
  /** The served versions, newest first. */
  readonly versions: readonly Version[];
  /**
   * Finds the agent that a request names with the first segment of its tenant, where several share the address: the
   * service authenticates callers for all of them. Throws for an unknown name.
   */
  readonly resolveTenant?: ((tenant: string) => NamedTenant) | undefined;
}

/** A tenant, split into its agent and the rest. */
export interface NamedTenant {
  readonly destination: AddressedService;
  /** `""`: the tenant names no agent, and the agent at the root takes the request. */
  readonly name: string;
  /** The tenant at the agent. */
  readonly rest: string;
}

/**
 * The rate limits of one call. Each step throws `resourceExhausted`, or rejects with it, when a limit is reached. It
 * returns a promise only where the answer takes time.
 */
export interface LimitedCall {
  /**
   * Counts the call for its address. `before`: the same call at the server, which has counted it for the server's
   * limits.
   */
  arrive(before?: LimitedCall): Promise<unknown> | undefined;
  /** Refuses a known caller that may send no more bytes. */
  checkCaller(principal: Principal): Promise<unknown> | undefined;
  /** Counts a decoded call. */
  admit(call: {
    readonly principal: Principal;
    readonly operation: Operation;
    readonly request: AnyMessage;
    readonly bytes: number;
  }): CallQuota | Promise<CallQuota>;
  /** Reply headers with the caller's remaining quota. */
  readonly fields: Readonly<Record<string, string>>;
  /** The call has ended. */
  leave(): void;
}

/** The steps of a call before its operation, over any binding and in process. */
export interface CallGate {
  /** The served versions, newest first. */
  readonly versions: readonly string[];
  /** Identifies the caller by headers alone. Throws `unauthenticated` or `permissionDenied`. */
  authenticate(head: CallHead, request: IdentifiedRequest): IdentifiedCaller | Promise<IdentifiedCaller>;
  /** Returns the requested extensions that are active for a call. Throws `extensionSupportRequired` (spec 3.3.4). */
  extensions(requested: readonly string[]): readonly string[];
  /**
   * Admits a call. Throws `unavailable` while draining, and `resourceExhausted` or `unavailable` when a limit on
   * streams is reached.
   */
  enter(call: EnteringCall): AdmittedCall;
  /**
   * Returns what a caller may see of an error: an `A2AError` unchanged; anything else masked, logged and given a
   * correlation id.
   */
  publicError(error: unknown, request: IdentifiedRequest): A2AError;
  /** Wraps every operation that a caller may call. Absent without interceptors. */
  readonly interception?: Interception<ServerContext> | undefined;
  /** Opens the rate limits of a call. Absent without limits. */
  readonly rates?: ((head: CallHead) => LimitedCall) | undefined;
  /** Whether operations read replies of other agents into memory and book them for their calls. Default: false. */
  readonly accountsAnswers?: boolean | undefined;
  /** Logs and measures calls. Absent when nothing does. */
  readonly observer?: CallObserver | undefined;
}

/** One handler behind its gate, which every binding serves. */
export interface Service extends CallGate {
  readonly handler: Operations<ServerContext>;
  readonly limits: BindingLimits;
  /** Whether callers are held to the version they declare, and refused if they must declare one and do not. */
  readonly strictVersions: boolean;
  /** The names that callers give their tasks, in versions where they do. */
  readonly taskNames: TaskNames;
  /** Measures the time limits of calls, and the silence on streams. Default: the machine's clock. */
  readonly clock?: Clock | undefined;
}
