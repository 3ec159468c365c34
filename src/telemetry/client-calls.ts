import { AsyncLocalStorage } from "node:async_hooks";
import type { Attributes, Context, Span } from "@opentelemetry/api";
import { type Step, streamOfSteps } from "../protocol/async/steps.js";
import type { CallOptions } from "../protocol/context.js";
import { A2AError, messageOf } from "../protocol/errors.js";
import type { InterceptedReply, Interceptor } from "../protocol/intercept.js";
import { type OperationName, operationOf, type StreamItem } from "../protocol/operations.js";
import type { OpenTelemetry } from "./api.js";
import { type CallInterface, callAttributes, isInProcess, methodOf, outcomeAttributes } from "./calls.js";
import { type Meters, metersOf, scopeName } from "./meters.js";
import { quietly } from "./trace-context.js";

/** The interface over which a client reaches its agent. */
interface ReachedInterface extends CallInterface {
  readonly url: string;
}

/** What happens to a call on its way. */
type CallEvent = "retries" | "fallbacks" | "resumes";

/** Follows the calls of clients. */
export interface ClientTelemetry {
  /** Gives each call a span and the headers that carry it; `reached`: the interface that was used last. */
  interceptor(reached: () => ReachedInterface | undefined): Interceptor<CallOptions>;
  /** Notes what happens to the call in whose context it runs. */
  note(event: CallEvent): void;
  /** A stream of the call in whose context it runs was opened. */
  opened(): void;
  /** Runs work without instrumentation: a request of a call has the span and the headers of its call. */
  quietly<T>(work: () => T): T;
}

/** Follows the calls of clients with a span and a duration each. */
export function followClientCalls(api: OpenTelemetry): ClientTelemetry {
  const { context, metrics, trace } = api;
  const tracer = trace.getTracer(scopeName);
  const meters = metersOf(metrics.getMeterProvider());
  // Not by the context of the API: a program that only measures has nothing that keeps one.
  const calls = new AsyncLocalStorage<ClientCall>();

  const interceptor =
    (reached: () => ReachedInterface | undefined): Interceptor<CallOptions> =>
    async (given, next) => {
      const operation = operationOf(given.operation);
      const parent = context.active();
      const attributes = callAttributes(operation, reached() ?? noWay);
      const span = tracer.startSpan(methodOf(operation), { kind: api.SpanKind.CLIENT, attributes }, parent);
      const within = trace.setSpan(parent, span);
      const call = new ClientCall({ api, meters, span, within, operation: given.operation, reached });
      const inside = <T>(work: () => T): T => calls.run(call, () => context.with(within, work));
      const headers = carrying(api, within, given.context.headers);
      const sent = { ...given, context: { ...given.context, headers } };
      try {
        const reply = await inside(() => next(sent));
        if (isStream(reply)) return followed(reply, call, inside);
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
    opened: () => calls.getStore()?.opened(),
    quietly: (work) => quietly(api, context.active(), work),
  };
}

const noWay: CallInterface = { binding: undefined, version: undefined };

/** Headers with the place in the trace; what the caller has of the same names would belong to another one. */
function carrying(
  { propagation }: OpenTelemetry,
  within: Context,
  given: CallOptions["headers"] = {},
): Readonly<Record<string, string>> {
  const carried: Record<string, string> = {};
  propagation.inject(within, carried);
  const others = Object.entries(given).filter(([name]) => !(name.toLowerCase() in carried));
  return { ...Object.fromEntries(others), ...carried };
}

function isStream(reply: InterceptedReply): reply is AsyncIterable<StreamItem> {
  return Symbol.asyncIterator in reply;
}

/** A stream whose reading runs within its call, which ends with it. */
function followed(
  items: AsyncIterable<StreamItem>,
  call: ClientCall,
  within: <T>(work: () => T) => T,
): AsyncIterable<StreamItem> {
  const source = items[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<StreamItem, undefined>> => source.next();
  const next = async (): Promise<Step<StreamItem>> => {
    try {
      const step = await within(ask);
      if (step.done === true) call.end(undefined);
      return step;
    } catch (error) {
      call.end({ error });
      throw error;
    }
  };
  return streamOfSteps(next, () => {
    call.end(undefined);
    return within(() => source.return?.());
  });
}

interface ClientCallFacts {
  readonly api: OpenTelemetry;
  readonly meters: Meters;
  readonly span: Span;
  readonly within: Context;
  readonly operation: OperationName;
  readonly reached: () => ReachedInterface | undefined;
}

/** A call from its start to its answer, with all attempts. */
class ClientCall {
  readonly #facts: ClientCallFacts;
  readonly #begun = performance.now();
  #isOpened = false;
  #isOver = false;

  constructor(facts: ClientCallFacts) {
    this.#facts = facts;
  }

  /** A stream that is opened again was resumed. */
  opened(): void {
    if (this.#isOpened) this.note("resumes");
    this.#isOpened = true;
  }

  note(event: CallEvent): void {
    const { meters, span, operation, reached } = this.#facts;
    const method = methodOf(operationOf(operation));
    const { binding, version } = reached() ?? noWay;
    const way = { "a2a.protocol.binding": binding, "a2a.protocol.version": version };
    meters.count(event, { "rpc.method": method, ...(event === "fallbacks" ? way : {}) });
    span.addEvent(eventNames[event], way);
  }

  end(failure: { readonly error: unknown } | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { api, meters, span, within, operation, reached } = this.#facts;
    const at = reached();
    const way = at ?? noWay;
    const attributes = {
      ...callAttributes(operationOf(operation), way),
      ...(at === undefined || isInProcess(at.binding) ? {} : serverOf(at.url)),
      ...(failure === undefined ? outcomeAttributes("OK", way.binding) : failureAttributes(failure.error, way.binding)),
    };
    const seconds = (performance.now() - this.#begun) / 1_000;
    meters.record("clientCall", seconds, attributes, within);
    if (span.isRecording()) {
      span.setAttributes({ ...attributes, ...referenceOf(failure?.error) });
      if (failure !== undefined) span.setStatus({ code: api.SpanStatusCode.ERROR, message: messageOf(failure.error) });
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

/** For spans alone: each error has one of its own, and a metric would keep a series for each. */
function referenceOf(error: unknown): Attributes {
  const reference = error instanceof A2AError ? error.metadata["reference"] : undefined;
  return reference === undefined ? {} : { "trivium.error.reference": reference };
}

/** The host and the port of an interface, whose address may lack a scheme. */
function serverOf(url: string): Attributes {
  const parsed = URL.parse(/^\w+:\/\//.test(url) ? url : `http://${url}`);
  if (parsed === null) return {};
  const { hostname, port, protocol } = parsed;
  const standard = protocol === "https:" ? 443 : 80;
  return { "server.address": hostname, "server.port": port === "" ? standard : Number(port) };
}
