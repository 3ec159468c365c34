import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { createContext, type OpenContext, type Principal, type ServerContext } from "../protocol/context.js";
import { invokeStream, invokeUnary, type Operation, type Operations, type StreamItem } from "../protocol/operations.js";
import { requestedExtensions, versionParameter } from "../protocol/service-parameters.js";
import type { JsonRpcAdapter } from "../version/codec.js";
import { declaredVersion } from "../version/detect.js";
import type { CallHead, Service } from "./service.js";

// The call pipeline, one order for every way in: authenticate → version → extensions → admit → decode → invoke → encode →
// mask. A binding brings the head, decodes and encodes; all the rest happens here.

/** What a version adapter says of the calls that come through it. */
export type CallAdapter = Pick<JsonRpcAdapter, "version" | "serve">;

/** What a call is brought to, once its method, route or path is known. */
export interface CallTarget {
  readonly operation: Operation;
  readonly adapter: CallAdapter;
  /** The handler as callers of the version expect it. */
  readonly handler: Operations<ServerContext>;
}

/** What the steps before the operation ask of a service. */
type CallGate = Pick<Service, "authenticate" | "extensions" | "enter">;

/** Authenticates a call by its headers alone. Without a promise when the service needs none. */
export function authenticate<S extends CallGate>(service: S, head: CallHead): ServerCall<S> | Promise<ServerCall<S>> {
  const principal = service.authenticate(head);
  if (principal instanceof Promise) return principal.then((known) => new ServerCall(service, head, known));
  return new ServerCall(service, head, principal);
}

/** A call whose caller is known, on its way to the operation. `end` it when the reply is complete. */
export class ServerCall<S extends CallGate = Service> {
  readonly service: S;
  readonly principal: Principal;
  /** The version that the caller declares; `undefined`: method, route or service decides. */
  declared: string | undefined;
  /** Extensions that are active for the call. */
  extensions: readonly string[] = [];
  /** Until the operation is called: a stream that stays open for long keeps nothing that it does not need. */
  #head: CallHead | undefined;
  #context: OpenContext | undefined;
  #left: { readonly reason: unknown } | undefined;
  #leaveRequest: () => void = noop;
  #leaveStream: () => void = noop;
  #ended = false;

  constructor(service: S, head: CallHead, principal: Principal) {
    this.service = service;
    this.principal = principal;
    this.#head = head;
  }

  /** Reads what the headers declare. Throws `versionNotSupported` or `extensionSupportRequired`. */
  declare(served: readonly string[]): void {
    const head = this.#openHead();
    this.declared = declaredBy(head, served);
    this.extensions = this.service.extensions(requestedExtensions(head.header));
  }

  /** Counts the call in, with what its request takes. Throws `unavailable` or `resourceExhausted`. */
  admit(bytes: number): void {
    this.#leaveRequest = this.service.enter({ principal: this.principal, bytes, streams: false });
    if (this.#ended) this.end();
  }

  /** Calls an operation that gives one reply. */
  unary({ handler, adapter, operation }: CallTarget, message: AnyMessage): Promise<AnyMessage> {
    return invokeUnary(handler, operation, message, this.#openContext(adapter));
  }

  /** Calls an operation that gives a stream, which counts until the call ends; the bytes of its request do not. */
  stream({ handler, adapter, operation }: CallTarget, message: AnyMessage): AsyncIterable<StreamItem> {
    this.#leaveStream = this.service.enter({ principal: this.principal, bytes: 0, streams: true });
    this.#endRequest();
    if (this.#ended) this.end();
    return invokeStream(handler, operation, message, this.#openContext(adapter));
  }

  /** The caller has gone, or its deadline has passed: operations hear of it by their signal. */
  leave(reason?: unknown): void {
    this.#left ??= { reason };
    this.#context?.leave(reason);
  }

  /** Counts the call out; calling it again does no harm. */
  end(): void {
    this.#ended = true;
    this.#endRequest();
    this.#leaveStream();
    this.#leaveStream = noop;
  }

  #openHead(): CallHead {
    if (this.#head === undefined) throw new TypeError("a call is brought to one operation");
    return this.#head;
  }

  #endRequest(): void {
    this.#leaveRequest();
    this.#leaveRequest = noop;
  }

  #openContext({ version }: CallAdapter): OpenContext {
    const { principal, extensions } = this;
    const { binding, header, address } = this.#openHead();
    this.#head = undefined;
    const after = header("last-event-id");
    const call = { principal, binding, version, extensions, after, caller: address };
    const context = createContext(call);
    if (this.#left !== undefined) context.leave(this.#left.reason);
    this.#context = context;
    return context;
  }
}

// What a version makes of a handler is made once for each of its adapters.
const served = new WeakMap<Operations<ServerContext>, WeakMap<object, Operations<ServerContext>>>();

/** The handler as callers of a version expect it. */
export function handlerFor(
  adapter: Pick<CallAdapter, "serve">,
  service: Pick<Service, "handler" | "taskNames">,
): Operations<ServerContext> {
  if (adapter.serve === undefined) return service.handler;
  const byAdapter = served.get(service.handler) ?? new WeakMap<object, Operations<ServerContext>>();
  served.set(service.handler, byAdapter);
  const handler = byAdapter.get(adapter) ?? adapter.serve(service.handler, service.taskNames);
  byAdapter.set(adapter, handler);
  return handler;
}

/** The version that a call declares, by header or query (spec 3.6.1). Throws `versionNotSupported`. */
export function declaredBy({ header, query = "" }: CallHead, served: readonly string[]): string | undefined {
  return declaredVersion(header(versionParameter) ?? queryValue(query, versionParameter), served);
}

/** A query parameter by its name, which is compared without case. */
function queryValue(query: string, name: string): string | undefined {
  if (query === "") return undefined;
  for (const [key, value] of new URLSearchParams(query)) {
    if (key.toLowerCase() === name) return value;
  }
  return undefined;
}

function noop(): void {}
