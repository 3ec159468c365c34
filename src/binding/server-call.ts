import { type Message as AnyMessage, isMessage } from "@bufbuild/protobuf";
import { streamFrom } from "../protocol/async/steps.js";
import { exceedsSize, sizeOfContentIn } from "../protocol/check/size.js";
import {
  type CallQuota,
  changeContext,
  createContext,
  type IdentifiedCaller,
  type OpenContext,
  type Principal,
  type ServerContext,
} from "../protocol/context.js";
import { A2AError, errorTable } from "../protocol/errors.js";
import { type Message, SendMessageRequestSchema } from "../protocol/model.js";
import { invokeStream, invokeUnary, type Operation, type Operations, type StreamItem } from "../protocol/operations.js";
import { requestedExtensions, versionParameter } from "../protocol/service-parameters.js";
import type { CallTrace } from "../protocol/telemetry/follow.js";
import type { JsonRpcAdapter } from "../version/codec.js";
import { declaredVersion } from "../version/detect.js";
import type { CallMeter } from "./call-meter.js";
import { AnnouncedDeadline } from "./deadline.js";
import { assertOneCredential } from "./one-credential.js";
import { chooseRequestId, requestIdParameter } from "./request-id.js";
import type { AdmittedCall, CallGate, CallHead, LimitedCall, Service } from "./service.js";

// The pipeline of a call. Its order is the same for every binding:
//
//   authenticate → version → extensions → admit → body → decode → authorize → rate limits → operation → encode
//
// A binding supplies the head, decodes and encodes; the other steps are here. Everything that headers can decide is
// decided before the body is read. (JSON-RPC reads the version first, since it decides the form of every error.)
//
// Bytes are booked on the admission of the call (`AdmittedCall`): each piece of the body until it is decoded,
// and a reply or an event over `smallReplyBytes` until the socket has taken it. Decoding or encoding more than that is
// large work, which waits for its turn and is booked before it begins.
//
// A deadline of the caller ends the wait in the pipeline, and not the turn. The turn ends too, and passes the rest of
// the time on to the agents that it calls, with the option `deadlines: "abort"` and when another turn of this server
// made the call (`TurnStart.late`).
//
// Every thrown value becomes an `A2AError`; an unknown one is logged with a reference and masked (`publicError`).
//
// Proxies decide by the HTTP status whether to repeat a call; nginx and HAProxy do so over gRPC too. So 503 guarantees
// that a call may be repeated: its work has not begun (`CallProgress`), or its operation is idempotent. The core notes
// the begin when a turn starts and before a message may reach its task (`core/turn-start.ts`), a gateway when a call
// fails that it may have sent to its agent. After that `unavailable` is 502. Over gRPC a refusal that may be repeated
// has HTTP status 503 beside its gRPC status, any other error has 200. A stream reset with REFUSED_STREAM would give
// the same guarantee, but only Envoy repeats such calls, and a reset carries neither a reason nor a delay.
//
// Invariant: a call takes its admissions and its deadline once, and `end` frees all of them, whatever has failed.

/** The part of a version adapter that every call has. */
export type CallAdapter = Pick<JsonRpcAdapter, "version" | "serve">;

/** The target of a call, once its method, route or path is known. */
export interface CallTarget {
  readonly operation: Operation;
  readonly adapter: CallAdapter;
  /** The handler in the form that callers of the version expect. */
  readonly handler: Operations<ServerContext>;
}

// The version's view of a handler is built once for each adapter.
const handlers = new WeakMap<Operations<ServerContext>, WeakMap<object, Operations<ServerContext>>>();

/** Returns the handler in the form that callers of a version expect. */
export function handlerFor(adapter: CallAdapter, service: Service): Operations<ServerContext> {
  if (adapter.serve === undefined) return service.handler;
  const byAdapter = handlers.get(service.handler) ?? new WeakMap<object, Operations<ServerContext>>();
  handlers.set(service.handler, byAdapter);
  const handler = byAdapter.get(adapter) ?? adapter.serve(service.handler, service.taskNames);
  byAdapter.set(adapter, handler);
  return handler;
}

/**
 * The threshold of booking and of large work. Up to this size, in characters of a text or in bytes, a call does not book
 * its reply or event: a socket takes it at once, and `listen/unsent.ts` books what waits on HTTP/2 streams. Decoding a
 * request or encoding a reply over this size is large work. Messages of gRPC are booked from half of it (`grpc/call.ts`).
 */
export const smallReplyBytes = 64 * 1024;

const noAddress = (): undefined => undefined;

/** A call on its way to the operation. Call `end` when the reply is complete. */
export class ServerCall<S extends CallGate = Service> {
  /** Serves the call. If the request names its agent, the front that all agents share comes first. */
  service: S;
  /** The version that the caller declares, or `undefined` if the method, route or service decides it. */
  declaredVersion: string | undefined;
  /** Extensions that are active for the call. */
  extensions: readonly string[] = [];
  /** Set by the binding once it is known. */
  target: CallTarget | undefined;
  readonly #binding: CallHead["binding"];
  #caller: IdentifiedCaller | undefined;
  #requestId: string | undefined;
  /** Dropped when the operation is called, so that a long stream keeps nothing that it does not need. */
  #head: CallHead | undefined;
  #context: OpenContext | undefined;
  #departure: { readonly reason: unknown } | undefined;
  #requestAdmission: AdmittedCall | undefined;
  #streamAdmission: AdmittedCall | undefined;
  /** The admission at the agent, of a call that began at another service. */
  #agentAdmission: AdmittedCall | undefined;
  #meter: CallMeter | undefined;
  #rateLimits: LimitedCall | undefined;
  /** The rate limits of the server, for a call that began there. */
  #serverRateLimits: LimitedCall | undefined;
  #deadline: AnnouncedDeadline | undefined;
  #ended = false;
  #requestBytes = 0;

  constructor(service: S, head: CallHead) {
    this.service = service;
    this.#binding = head.binding;
    this.#head = head;
    this.#meter = service.observer?.begin();
  }

  /** The id of the request: the caller's own if it is safe, else a new one. */
  get requestId(): string {
    this.#requestId ??= chooseRequestId(this.#head?.header(requestIdParameter));
    return this.#requestId;
  }

  /** The caller. Throws before it is authenticated. */
  get principal(): Principal {
    if (this.#caller === undefined) throw new A2AError("unauthenticated", "the caller is not known");
    return this.#caller.principal;
  }

  /**
   * Authenticates the caller from the headers, within the limits of its address. Returns no promise if the service
   * answers at once.
   */
  authenticate(): undefined | Promise<unknown> {
    assertOneCredential(this.#openHead().header("authorization") ?? "");
    this.#rateLimits = this.service.rates?.(this.#openHead());
    const arrival = this.#rateLimits?.arrive();
    return arrival === undefined ? this.#identify() : arrival.then(() => this.#identify());
  }

  #identify(): undefined | Promise<unknown> {
    const caller = this.service.authenticate(this.#openHead(), this);
    return caller instanceof Promise ? caller.then((late) => this.#acceptCaller(late)) : this.#acceptCaller(caller);
  }

  #acceptCaller(caller: IdentifiedCaller): undefined | Promise<unknown> {
    this.#caller = caller;
    return this.#rateLimits?.checkCaller(caller.principal);
  }

  /** Reply headers with the remaining quota; none without rate limits. */
  get rateFields(): Readonly<Record<string, string>> | undefined {
    return this.#rateLimits?.fields;
  }

  /** Reads what the headers declare. Throws `versionNotSupported` or `extensionSupportRequired`. */
  declare(versions: readonly string[]): void {
    this.declareVersion(versions);
    this.declareExtensions();
  }

  /** Reads the version from a header or the query (spec 3.6.1). Throws `versionNotSupported`. */
  declareVersion(versions: readonly string[]): void {
    const { header, query = "" } = this.#openHead();
    this.declaredVersion = declaredVersion(
      header(versionParameter) ?? readQueryValue(query, versionParameter),
      versions,
    );
  }

  /** Activates the requested extensions, once the caller is authenticated. Throws `extensionSupportRequired`. */
  declareExtensions(): void {
    this.extensions = this.service.extensions(requestedExtensions(this.#openHead().header));
  }

  /** Admits the call, before its request is read. Throws `unavailable`. */
  admit(): void {
    this.#requestAdmission = this.#enter(false);
    if (this.#ended) this.#leaveAdmissions();
  }

  /** Continues an admitted call at the service of the agent that its request names. Throws `unavailable`. */
  moveTo(service: S): void {
    this.service = service;
    this.#agentAdmission = this.#enter(false);
    if (this.#ended) this.#leaveAdmissions();
    this.#serverRateLimits = this.#rateLimits;
    this.#rateLimits = service.rates?.(this.#openHead());
  }

  /** The admission that bytes are booked on: that of the request until a stream has its own. */
  get #admission(): AdmittedCall | undefined {
    return this.#requestAdmission ?? this.#streamAdmission;
  }

  /** Books bytes of the request as they arrive. Throws `unavailable` or `resourceExhausted`. */
  receive(bytes: number): void {
    this.#requestBytes += bytes;
    if (this.#meter !== undefined) this.#meter.requestBytes += bytes;
    this.#admission?.receive(bytes);
  }

  /** Books bytes of a reply that waits to be taken. Throws `unavailable` or `resourceExhausted`. */
  hold(bytes: number): void {
    this.#admission?.hold(bytes);
  }

  /** Whether a reply or an event is encoded as large work. */
  isLarge(reply: AnyMessage): boolean {
    return exceedsSize(reply, smallReplyBytes);
  }

  /** Books the estimated size of a large reply or event before it is encoded, and returns it. Throws as `hold` does. */
  reserve(reply: AnyMessage): number {
    const bytes = sizeOfContentIn(reply);
    this.hold(bytes);
    return bytes;
  }

  /** Decodes a part of the request: at once if the request is small, else in the caller's turn. */
  decode<T>(piece: () => T): T | Promise<T> {
    return this.#requestBytes > smallReplyBytes ? this.work(singleStep(piece)) : piece();
  }

  /** Decodes the request message as `decode` does. A large one is also measured, in a step of its own. */
  decodeMessage(read: () => AnyMessage): AnyMessage | Promise<AnyMessage> {
    return this.#requestBytes > smallReplyBytes ? this.work(readAndMeasure(read)) : read();
  }

  /**
   * Runs large work step by step, each in the caller's turn, and resolves with what the last step returns. Rejects if
   * the caller has left.
   */
  work<T>(steps: Iterator<unknown, T>): Promise<T> {
    const admission = this.#admission;
    return admission === undefined ? Promise.reject(callerLeft()) : admission.work(this.#whileHere(steps));
  }

  *#whileHere<T>(steps: Iterator<unknown, T>): Generator<unknown, T> {
    for (;;) {
      if (this.#departure !== undefined) throw callerLeft();
      const { done, value } = steps.next();
      if (done === true) return value;
      yield value;
    }
  }

  /** Releases bytes of a reply that its peer has taken. */
  release(bytes: number): void {
    this.#admission?.release(bytes);
  }

  /** A piece of the reply is ready for the socket. */
  countReply(piece: string | Uint8Array): void {
    this.#meter?.countReply(piece);
  }

  /** Calls a unary operation. The bytes of the request are released, since it is decoded. */
  unary(message: AnyMessage): Promise<AnyMessage> {
    const target = this.#openTarget();
    this.#requestAdmission?.release();
    const context = this.#openContext(target.adapter);
    const { trace } = context;
    const reply =
      trace === undefined
        ? this.#intercept(target, message, context)
        : trace.run(() => this.#intercept(target, message, context));
    return this.#deadline === undefined ? reply : this.#deadline.until(reply);
  }

  #intercept(target: CallTarget, message: AnyMessage, context: ServerContext): Promise<AnyMessage> {
    const { interception } = this.service;
    if (interception === undefined) return this.#invoke(target, message, context);
    // Interceptors get every failure as a rejection.
    const invoke = async (request: AnyMessage, within: ServerContext) => this.#invoke(target, request, within);
    return interception.unary(target.operation, { request: message, context }, invoke);
  }

  #invoke({ handler, operation }: CallTarget, request: AnyMessage, context: ServerContext): Promise<AnyMessage> {
    this.#authorize(operation, request);
    const limited = this.#limit(operation, request, context);
    return limited instanceof Promise
      ? limited.then((within) => invokeUnary(handler, operation, request, within))
      : invokeUnary(handler, operation, request, limited);
  }

  /** Calls a streaming operation. The stream stays admitted until the call ends, its request does not. */
  stream(message: AnyMessage): AsyncIterable<StreamItem> {
    const { handler, adapter, operation } = this.#openTarget();
    const invoke = (request: AnyMessage, context: ServerContext): AsyncIterable<StreamItem> => {
      this.#authorize(operation, request);
      const limited = this.#limit(operation, request, context);
      return limited instanceof Promise
        ? streamFrom(() => limited.then((within) => invokeStream(handler, operation, request, within)))
        : invokeStream(handler, operation, request, limited);
    };
    this.#streamAdmission = this.#enter(true);
    this.#endRequest();
    if (this.#ended) this.#leaveAdmissions();
    const { interception } = this.service;
    const context = this.#openContext(adapter);
    const items =
      interception === undefined
        ? invoke(message, context)
        : interception.stream(operation, { request: message, context }, invoke);
    const timedItems = this.#deadline === undefined ? items : this.#deadline.items(items);
    return this.#meter === undefined ? timedItems : this.#meter.count(timedItems);
  }

  /** Holds the caller to what the operation and the skill of its message require. */
  #authorize({ name }: Operation, request: AnyMessage): void {
    const authorize = this.#caller?.authorize;
    if (authorize !== undefined) authorize(name, messageIn(request));
  }

  /** Applies the rate limits. The operation gets the rest of the quota in its context. */
  #limit(operation: Operation, request: AnyMessage, context: ServerContext): ServerContext | Promise<ServerContext> {
    const limits = this.#rateLimits;
    if (limits === undefined) return context;
    const call = { principal: this.principal, operation, request, bytes: this.#requestBytes };
    const quota =
      this.#agentAdmission === undefined
        ? limits.admit(call)
        : this.#arriveAtAgent(limits).then(() => limits.admit(call));
    return quota instanceof Promise
      ? quota.then((late) => this.#withQuota(late, context))
      : this.#withQuota(quota, context);
  }

  async #arriveAtAgent(limits: LimitedCall): Promise<void> {
    await limits.arrive(this.#serverRateLimits);
    await limits.checkCaller(this.principal);
  }

  #withQuota(quota: CallQuota, context: ServerContext): ServerContext {
    return context === this.#context ? this.#context.limit(quota) : changeContext(context, { quota });
  }

  /** Returns what the caller may see of an error that ends the call. */
  publicError(error: unknown): A2AError {
    const meter = this.#meter;
    const mask = (): A2AError => this.service.publicError(error, this);
    const publicError = meter?.trace === undefined ? mask() : meter.trace.run(mask);
    meter?.fail(publicError.code, publicError);
    return publicError;
  }

  /**
   * Whether the call may be repeated after an error: its work has not begun, or its operation is idempotent.
   */
  get isRepeatable(): boolean {
    return this.#context?.progress.begun !== true || this.target?.operation.idempotent === true;
  }

  /**
   * The HTTP status of an error that ends the call. Proxies see only the status, and repeat calls with 503. So `unavailable`
   * is 503 only if the call may be repeated; otherwise it is 502.
   */
  chooseHttpStatus({ code }: A2AError): number {
    return code === "unavailable" && !this.isRepeatable ? 502 : errorTable[code].http;
  }

  /** The caller left or its deadline passed. Aborts the signal of the operation. */
  leave(cause?: unknown): void {
    const reason = this.#ended || cause instanceof A2AError ? cause : (this.#deadline?.findReasonToLeave() ?? cause);
    if (reason instanceof A2AError) this.#meter?.fail(reason.code, reason);
    else this.#meter?.fail("CANCELLED");
    this.#departure ??= { reason };
    this.#context?.leave(reason);
  }

  /** Ends the call and its admission. Calling it twice is harmless. */
  end(): void {
    this.#leaveAdmissions();
    this.#deadline?.end();
    if (this.#ended) return;
    this.#ended = true;
    this.#rateLimits?.leave();
    if (this.#meter !== undefined) this.#report(this.#meter);
  }

  #report(meter: CallMeter): void {
    const { requestId, target } = this;
    meter.trace ??= this.#startTrace();
    const call = { requestId, binding: this.#binding, principal: this.#caller?.principal, meter };
    this.service.observer?.end({ ...call, operation: target?.operation, version: target?.adapter.version });
  }

  #startTrace(): CallTrace | undefined {
    const meter = this.#meter;
    if (meter === undefined || this.#head === undefined) return undefined;
    const { binding, header } = this.#head;
    const { operation, adapter } = this.target ?? {};
    return this.service.observer?.trace?.({ binding, header, operation, version: adapter?.version }, meter);
  }

  #leaveAdmissions(): void {
    this.#endRequest();
    this.#agentAdmission?.leave();
    this.#agentAdmission = undefined;
    this.#streamAdmission?.leave();
    this.#streamAdmission = undefined;
  }

  #endRequest(): void {
    this.#requestAdmission?.leave();
    this.#requestAdmission = undefined;
  }

  #enter(streams: boolean): AdmittedCall {
    const { peer = noAddress, header, via } = this.#openHead();
    const inside = via && { isInside: true };
    return this.service.enter({ principal: this.principal, peer, header, streams, ...inside });
  }

  #openHead(): CallHead {
    if (this.#head === undefined) throw new TypeError("a call is brought to one operation");
    return this.#head;
  }

  #openTarget(): CallTarget {
    if (this.target === undefined) throw new TypeError("the binding has not set the operation of its call");
    return this.target;
  }

  #openContext({ version }: CallAdapter): OpenContext {
    const { principal, extensions, requestId } = this;
    const head = this.#openHead();
    const { binding, header, address, via, deadline } = head;
    const { authorize, authorizeAnswer } = this.#caller ?? {};
    const holds = authorize !== undefined || authorizeAnswer !== undefined;
    const chain = via === undefined && !holds ? undefined : { via: via ?? [], authorize, authorizeAnswer };
    const trace = this.#startTrace();
    if (this.#meter !== undefined) this.#meter.trace = trace;
    this.#head = undefined;
    const after = header("last-event-id");
    const call = { principal, binding, version, extensions, after, caller: address, header, requestId, trace, chain };
    const memory = this.service.accountsAnswers === true ? this.#admission : undefined;
    const context = createContext({ ...call, deadline, memory });
    if (deadline !== undefined) this.#deadline = new AnnouncedDeadline(deadline, (reason) => this.leave(reason));
    if (this.#departure !== undefined) context.leave(this.#departure.reason);
    this.#context = context;
    return context;
  }
}

function* readAndMeasure(read: () => AnyMessage): Generator<undefined, AnyMessage> {
  const message = read();
  yield;
  // The size is remembered for the checks of limits that follow.
  sizeOfContentIn(message);
  return message;
}

/** Work of a single step. */
export function singleStep<T>(piece: () => T): Iterator<never, T> {
  return { next: () => ({ done: true, value: piece() }) };
}

/** Ends the work of a caller that has left. The error is never sent. */
function callerLeft(): A2AError {
  return new A2AError("unavailable", "the caller has left");
}

/** Returns a query parameter by name, ignoring case. */
function readQueryValue(query: string, name: string): string | undefined {
  if (query === "") return undefined;
  for (const [key, value] of new URLSearchParams(query)) {
    if (key.toLowerCase() === name) return value;
  }
  return undefined;
}

/** The message of a send. */
function messageIn(request: AnyMessage): Message | undefined {
  return isMessage(request, SendMessageRequestSchema) ? request.message : undefined;
}
