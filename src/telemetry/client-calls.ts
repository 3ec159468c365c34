import { AsyncLocalStorage } from "node:async_hooks";
import type { Attributes, Context, Span } from "@opentelemetry/api";
import { createStepStream, type Step } from "../protocol/async/steps.js";
import type { CallOptions } from "../protocol/context.js";
import { A2AError, readErrorMessage } from "../protocol/errors.js";
import type { InterceptedReply, Interceptor } from "../protocol/intercept.js";
import { findOperation, type OperationName, type StreamItem } from "../protocol/operations.js";
import type { OpenTelemetry } from "./api.js";
import { type CallInterface, callAttributes, formatMethod, isInProcess, outcomeAttributes } from "./calls.js";
import { type Meters, openMeters, scope } from "./meters.js";
import type { ExceptionDetail } from "./options.js";
import { suppressTracing } from "./trace-context.js";

/** The interface over which a client reaches its agent. */
interface ReachedInterface extends CallInterface {
  readonly url: string;
}

/** Events of a call that metrics count. */
type CallEvent = "retries" | "fallbacks" | "resumes";

/** Follows the calls of clients. */
export interface ClientTelemetry {
  /** Gives each call a span and the headers that propagate it. `interfaceNow`: the interface that was used last. */
  interceptor(interfaceNow: () => ReachedInterface | undefined): Interceptor<CallOptions>;
  /** Records an event of the current call. */
  note(event: CallEvent): void;
  /** Records that the current call has opened a stream. The second time, the stream was resumed. */
  noteStream(): void;
  /** Runs work without instrumentation: requests of a call have its span and its headers already. */
  suppressTracing<T>(work: () => T): T;
}

/** Follows the calls of clients with a span and a duration each. */
export function followClientCalls(api: OpenTelemetry, exceptions: ExceptionDetail): ClientTelemetry {
  const { context, metrics, trace } = api;
  const tracer = trace.getTracer(...scope);
  const meters = openMeters(metrics.getMeterProvider());
  // The API's own context does not do: a program with metrics alone has no context manager.
  const calls = new AsyncLocalStorage<ClientCall>();

  const interceptor =
    (interfaceNow: () => ReachedInterface | undefined): Interceptor<CallOptions> =>
    async (request, next) => {
      const operation = findOperation(request.operation);
      const parent = context.active();
      const attributes = callAttributes(operation, interfaceNow() ?? noInterface);
      const span = tracer.startSpan(formatMethod(operation), { kind: api.SpanKind.CLIENT, attributes }, parent);
      const callContext = trace.setSpan(parent, span);
      const { operation: name } = request;
      const call = new ClientCall({ api, meters, exceptions, span, callContext, interfaceNow, operation: name });
      const inside = <T>(work: () => T): T => calls.run(call, () => context.with(callContext, work));
      const headers = withTraceHeaders(api, callContext, request.context.headers);
      const tracedRequest = { ...request, context: { ...request.context, headers } };
      try {
        const reply = await inside(() => next(tracedRequest));
        if (isStream(reply)) return followStream(reply, call, inside);
        call.end(undefined);
        return reply;
      } catch (error) {
        call.end({ error });
        throw error;
      }
    };
  return {
    interceptor,
    note: (event) => calls.getStore()?.note(event),
    noteStream: () => calls.getStore()?.noteStream(),
    suppressTracing: (work) => suppressTracing(api, context.active(), work),
  };
}

const noInterface: CallInterface = { binding: undefined, version: undefined };

/** The headers of a call with those of its trace, which replace the caller's of the same names. */
function withTraceHeaders(
  { propagation }: OpenTelemetry,
  callContext: Context,
  headers: CallOptions["headers"] = {},
): Readonly<Record<string, string>> {
  const traceHeaders: Record<string, string> = {};
  propagation.inject(callContext, traceHeaders);
  const others = Object.entries(headers).filter(([name]) => !(name.toLowerCase() in traceHeaders));
  return { ...Object.fromEntries(others), ...traceHeaders };
}

function isStream(reply: InterceptedReply): reply is AsyncIterable<StreamItem> {
  return Symbol.asyncIterator in reply;
}

/** Reads a stream in the context of its call, and ends the call with it. */
function followStream(
  items: AsyncIterable<StreamItem>,
  call: ClientCall,
  runInside: <T>(work: () => T) => T,
): AsyncIterable<StreamItem> {
  const source = items[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<StreamItem, undefined>> => source.next();
  const next = async (): Promise<Step<StreamItem>> => {
    try {
      const step = await runInside(ask);
      if (step.done === true) call.end(undefined);
      return step;
    } catch (error) {
      call.end({ error });
      throw error;
    }
  };
  return createStepStream(next, () => {
    call.end(undefined);
    return runInside(() => source.return?.());
  });
}

interface ClientCallFacts {
  readonly api: OpenTelemetry;
  readonly meters: Meters;
  readonly exceptions: ExceptionDetail;
  readonly span: Span;
  readonly callContext: Context;
  readonly operation: OperationName;
  readonly interfaceNow: () => ReachedInterface | undefined;
}

/** A call from its start to its answer, with all attempts. */
class ClientCall {
  readonly #facts: ClientCallFacts;
  readonly #startedAt = performance.now();
  #isOpened = false;
  #isOver = false;

  constructor(facts: ClientCallFacts) {
    this.#facts = facts;
  }

  noteStream(): void {
    if (this.#isOpened) this.note("resumes");
    this.#isOpened = true;
  }

  note(event: CallEvent): void {
    const { meters, span, operation, interfaceNow } = this.#facts;
    const method = formatMethod(findOperation(operation));
    const { binding, version } = interfaceNow() ?? noInterface;
    const way = { "a2a.protocol.binding": binding, "a2a.protocol.version": version };
    meters.count(event, { "rpc.method": method, ...(event === "fallbacks" ? way : {}) });
    span.addEvent(eventNames[event], way);
  }

  end(failure: { readonly error: unknown } | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { api, meters, exceptions, span, callContext: within, operation, interfaceNow } = this.#facts;
    const at = interfaceNow();
    const way = at ?? noInterface;
    const attributes = {
      ...callAttributes(findOperation(operation), way),
      ...(at === undefined || isInProcess(at.binding) ? {} : readServer(at.url)),
      ...(failure === undefined ? outcomeAttributes("OK", way.binding) : failureAttributes(failure.error, way.binding)),
    };
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    meters.record("clientCall", seconds, attributes, within);
    if (span.isRecording()) {
      span.setAttributes({ ...attributes, ...readReference(failure?.error) });
      const status = { code: api.SpanStatusCode.ERROR };
      if (failure !== undefined)
        span.setStatus(exceptions === "full" ? { ...status, message: readErrorMessage(failure.error) } : status);
    }
    span.end();
  }
}

const eventNames: Readonly<Record<CallEvent, string>> = {
  retries: "trivium.client.retry",
  fallbacks: "trivium.client.fallback",
  resumes: "trivium.client.resume",
};

function failureAttributes(error: unknown, binding: string | undefined): Attributes {
  if (error instanceof A2AError) return outcomeAttributes(error.code, binding);
  const isAbort = error instanceof Error && error.name === "AbortError";
  return isAbort ? outcomeAttributes("CANCELLED", binding) : { "error.type": "_OTHER" };
}

/** For spans alone: each error has its own reference, and a metric would keep a series for each. */
function readReference(error: unknown): Attributes {
  const reference = error instanceof A2AError ? error.metadata["reference"] : undefined;
  return reference === undefined ? {} : { "trivium.error.reference": reference };
}

/** Host and port of an interface. Its address may lack a scheme. */
function readServer(url: string): Attributes {
  const address = URL.parse(/^\w+:\/\//.test(url) ? url : `http://${url}`);
  if (address === null) return {};
  const { hostname, port, protocol } = address;
  const defaultPort = protocol === "https:" ? 443 : 80;
  return { "server.address": hostname, "server.port": port === "" ? defaultPort : Number(port) };
}
