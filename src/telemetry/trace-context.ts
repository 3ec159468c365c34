import type { Context, Span, SpanContext, TextMapGetter } from "@opentelemetry/api";
import type { ReadHeader } from "../protocol/context.js";
import type { Trace, TraceContext } from "../protocol/telemetry/trace.js";
import type { OpenTelemetry } from "./api.js";

/** Longest `tracestate` that is kept: what the standard asks of every party. */
const maxStateLength = 512;

/** A span with the context in which what belongs to it runs. */
export class SpanTrace implements Trace {
  readonly api: OpenTelemetry;
  readonly within: SpanPlace;

  constructor(api: OpenTelemetry, within: SpanPlace) {
    this.api = api;
    this.within = within;
  }

  get span(): Span {
    return this.within.span;
  }

  /** The context with which values are measured. Only a sampled span may serve as an example; others would be kept alive. */
  get measured(): Context {
    return this.isSampled ? this.within : this.within.parent;
  }

  get context(): TraceContext {
    return contextOf(this.span.spanContext());
  }

  /** Whether the trace is recorded here or anywhere. */
  get isSampled(): boolean {
    return this.span.isRecording() || (this.span.spanContext().traceFlags & this.api.TraceFlags.SAMPLED) !== 0;
  }

  run<T>(work: () => T): T {
    const { context } = this.api;
    // Work that follows from the span is there already, and entering it again costs as much as the first time.
    return context.active() === this.within ? work() : context.with(this.within, work);
  }
}

/** Places spans in contexts, like `trace.setSpan`, whose contexts copy all values of their parents. */
export function spanPlaces({ trace, createContextKey, INVALID_SPAN_CONTEXT }: OpenTelemetry) {
  // The key of spans is the API's own: it says it when it sets one.
  let key = createContextKey("span");
  const probe: Context = {
    getValue: () => undefined,
    setValue(asked) {
      key = asked;
      return probe;
    },
    deleteValue: () => probe,
  };
  trace.setSpan(probe, trace.wrapSpanContext(INVALID_SPAN_CONTEXT));
  return (parent: Context, span: Span) => new SpanPlace(key, parent, span);
}

/** A context with a span. */
class SpanPlace implements Context {
  readonly #key: symbol;
  readonly parent: Context;
  readonly span: Span;

  constructor(key: symbol, parent: Context, span: Span) {
    this.#key = key;
    this.parent = parent;
    this.span = span;
  }

  getValue(key: symbol): unknown {
    return key === this.#key ? this.span : this.parent.getValue(key);
  }

  setValue(key: symbol, value: unknown): Context {
    return this.parent.setValue(this.#key, this.span).setValue(key, value);
  }

  deleteValue(key: symbol): Context {
    return this.parent.setValue(this.#key, this.span).deleteValue(key);
  }
}

const flagTexts = Array.from({ length: 256 }, (_, flags) => flags.toString(16).padStart(2, "0"));

/** A place in a trace as it is stored and sent. */
export function contextOf({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  const traceparent = `00-${traceId}-${spanId}-${flagTexts[traceFlags & 0xff]}`;
  const tracestate = traceState?.serialize();
  return tracestate === undefined || tracestate === "" || tracestate.length > maxStateLength
    ? { traceparent }
    : { traceparent, tracestate };
}

const form = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The place in a trace that was stored; `undefined` if it makes no sense. */
export function spanContextOf(api: OpenTelemetry, stored: TraceContext | undefined): SpanContext | undefined {
  const [, traceId = "", spanId = "", flags = ""] = form.exec(stored?.traceparent ?? "") ?? [];
  const state = stored?.tracestate;
  const traceState = state === undefined ? undefined : api.createTraceState(state);
  const found: SpanContext = {
    ...{ traceId, spanId, isRemote: true, traceFlags: Number.parseInt(flags, 16) },
    ...(traceState === undefined ? {} : { traceState }),
  };
  return api.isSpanContextValid(found) ? found : undefined;
}

const getter: TextMapGetter<ReadHeader> = {
  get: (header, name) => header(name.toLowerCase()),
  // No propagator in use asks for all of them.
  keys: () => [],
};

/**
 * Finds the context that a call belongs to. Instrumentation of the HTTP server may have read the headers before: then its
 * span is active, and the call belongs below it.
 */
export function callerContexts(api: OpenTelemetry): (header: ReadHeader) => Context {
  const names = api.propagation.fields().map((name) => name.toLowerCase());
  return (header) => callerContext(api, names, header);
}

function callerContext(
  { context, trace, propagation, ROOT_CONTEXT }: OpenTelemetry,
  names: readonly string[],
  header: ReadHeader,
): Context {
  const active = context.active();
  // Most callers bring nothing, which costs less to see than to extract.
  const isBrought = names.some((name) => header(name) !== undefined);
  const remote = isBrought ? propagation.extract(ROOT_CONTEXT, header, getter) : ROOT_CONTEXT;
  const here = trace.getSpanContext(active);
  if (here === undefined) return remote;
  const there = trace.getSpanContext(remote);
  return there === undefined || there.traceId === here.traceId ? active : remote;
}

/** The text by which an SDK knows that a context is not traced: keys of the same text are the same. */
const suppressed = "OpenTelemetry SDK Context Key SUPPRESS_TRACING";

/** Runs a request that has its span and its headers already, so that instrumentation adds none. */
export function quietly<T>({ context, createContextKey }: OpenTelemetry, within: Context, request: () => T): T {
  return context.with(within.setValue(createContextKey(suppressed), true), request);
}
