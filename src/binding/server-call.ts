import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { sizeOfTasksIn } from "../protocol/check/size.js";
import { createContext, type OpenContext, type Principal, type ServerContext } from "../protocol/context.js";
import { invokeStream, invokeUnary, type Operation, type Operations, type StreamItem } from "../protocol/operations.js";
import { requestedExtensions, versionParameter } from "../protocol/service-parameters.js";
import type { JsonRpcAdapter } from "../version/codec.js";
import { declaredVersion } from "../version/detect.js";
import type { AdmittedCall, CallHead, Service } from "./service.js";

// The call pipeline. Its order is the same for every binding: authenticate → version → extensions → admit → decode →
// invoke → encode → mask. A binding supplies the head, decodes and encodes; the other steps are here.

/** What a version adapter contributes to its calls. */
export type CallAdapter = Pick<JsonRpcAdapter, "version" | "serve">;

/** The target of a call, once its method, route or path is known. */
export interface CallTarget {
  readonly operation: Operation;
  readonly adapter: CallAdapter;
  /** The handler in the form that callers of the version expect. */
  readonly handler: Operations<ServerContext>;
}

/** The parts of a service that the steps before the operation use. */
type CallGate = Pick<Service, "authenticate" | "extensions" | "enter">;

/** Authenticates a call from its headers. Returns no promise if the service answers at once. */
export function authenticate<S extends CallGate>(service: S, head: CallHead): ServerCall<S> | Promise<ServerCall<S>> {
  const principal = service.authenticate(head);
  if (principal instanceof Promise) return principal.then((known) => new ServerCall(service, head, known));
  return new ServerCall(service, head, principal);
}

/** Replies and events up to this size are not booked: a socket takes them at once. */
export const smallReplyBytes = 64 * 1024;

const unknown = (): undefined => undefined;

/** An authenticated call on its way to the operation. Call `end` when the reply is complete. */
export class ServerCall<S extends CallGate = Service> {
  readonly service: S;
  readonly principal: Principal;
  /** The version that the caller declares, or `undefined` if the method, route or service decides it. */
  declared: string | undefined;
  /** Extensions that are active for the call. */
  extensions: readonly string[] = [];
  /** Dropped when the operation is called, so that a long stream keeps nothing that it does not need. */
  #head: CallHead | undefined;
  #context: OpenContext | undefined;
  #left: { readonly reason: unknown } | undefined;
  #request: AdmittedCall | undefined;
  #stream: AdmittedCall | undefined;
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

  /** Admits the call, before its request is read. Throws `unavailable`. */
  admit(): void {
    this.#request = this.#enter(false);
    if (this.#ended) this.end();
  }

  /** Books a piece of the request as it arrives. Throws `unavailable` or `resourceExhausted`. */
  readonly arrived = (piece: Uint8Array): void => this.hold(piece.length);

  /** Books bytes of the request, or of a reply that waits to be taken. Throws `unavailable` or `resourceExhausted`. */
  hold(bytes: number): void {
    (this.#request ?? this.#stream)?.hold(bytes);
  }

  /** Throws as `hold` does when there is no room for a large reply or event, before it is encoded. */
  assertRoom(reply: AnyMessage): void {
    const bytes = sizeOfTasksIn(reply);
    if (bytes <= smallReplyBytes) return;
    this.hold(bytes);
    this.release(bytes);
  }

  /** Releases bytes of a reply that its peer has taken. */
  release(bytes: number): void {
    (this.#request ?? this.#stream)?.release(bytes);
  }

  /** Calls a unary operation. The bytes of the request are released, since it is decoded. */
  unary({ handler, adapter, operation }: CallTarget, message: AnyMessage): Promise<AnyMessage> {
    this.#request?.release();
    return invokeUnary(handler, operation, message, this.#openContext(adapter));
  }

  /** Calls a streaming operation. The stream stays admitted until the call ends, its request does not. */
  stream({ handler, adapter, operation }: CallTarget, message: AnyMessage): AsyncIterable<StreamItem> {
    this.#stream = this.#enter(true);
    this.#endRequest();
    if (this.#ended) this.end();
    return invokeStream(handler, operation, message, this.#openContext(adapter));
  }

  /** The caller left or its deadline passed. Aborts the signal of the operation. */
  leave(reason?: unknown): void {
    this.#left ??= { reason };
    this.#context?.leave(reason);
  }

  /** Ends the call's admission. Calling it twice is harmless. */
  end(): void {
    this.#ended = true;
    this.#endRequest();
    this.#stream?.leave();
    this.#stream = undefined;
  }

  #endRequest(): void {
    this.#request?.leave();
    this.#request = undefined;
  }

  #enter(streams: boolean): AdmittedCall {
    const { peer = unknown } = this.#openHead();
    return this.service.enter({ principal: this.principal, peer, streams });
  }

  #openHead(): CallHead {
    if (this.#head === undefined) throw new TypeError("a call is brought to one operation");
    return this.#head;
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

// The version's view of a handler is built once for each adapter.
const served = new WeakMap<Operations<ServerContext>, WeakMap<object, Operations<ServerContext>>>();

/** Returns the handler in the form that callers of a version expect. */
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

/** Returns the version that a call declares in a header or the query (spec 3.6.1). Throws `versionNotSupported`. */
export function declaredBy({ header, query = "" }: CallHead, served: readonly string[]): string | undefined {
  return declaredVersion(header(versionParameter) ?? queryValue(query, versionParameter), served);
}

/** Returns a query parameter by name, ignoring case. */
function queryValue(query: string, name: string): string | undefined {
  if (query === "") return undefined;
  for (const [key, value] of new URLSearchParams(query)) {
    if (key.toLowerCase() === name) return value;
  }
  return undefined;
}
