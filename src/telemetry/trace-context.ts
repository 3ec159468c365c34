import type { Context, Span, SpanContext, TextMapGetter } from "@opentelemetry/api";
import type { ReadHeader } from "../protocol/context.js";
import type { Trace, TraceContext } from "../protocol/telemetry/trace.js";
import type { OpenTelemetry } from "./api.js";

/** Longest `tracestate` that is kept: the minimum that the standard requires. */
const maxStateLength = 512;

/** A span with the context in which its work runs. */
export class SpanTrace implements Trace {
  readonly api: OpenTelemetry;
  readonly started: StartedSpan;

  constructor(api: OpenTelemetry, started: StartedSpan) {
    this.api = api;
    this.started = started;
  }

  get span(): Span {
    return this.started.span;
  }

  get otelContext(): Context {
    return this.started.context;
  }

  /** The context for measurements. Only a sampled span may become an exemplar; others would be kept alive. */
  get exemplarContext(): Context {
    return this.isSampled ? this.otelContext : this.started.parent;
  }

  get context(): TraceContext {
    return toTraceContext(this.span.spanContext());
  }

  /** Whether the trace is recorded, here or by another party. */
  get isSampled(): boolean {
    return this.span.isRecording() || (this.span.spanContext().traceFlags & this.api.TraceFlags.SAMPLED) !== 0;
  }

  run<T>(work: () => T): T {
    const { context } = this.api;
    // Work that follows from the span runs in its context already, and entering it again costs as much as the first time.
    return context.active() === this.otelContext ? work() : context.with(this.otelContext, work);
  }
}

/** A span, the context in which it was started, and the one in which its work runs. */
export interface StartedSpan {
  readonly span: Span;
  readonly parent: Context;
  readonly context: Context;
}

export function startedSpan({ trace }: OpenTelemetry, parent: Context, span: Span): StartedSpan {
  return { span, parent, context: trace.setSpan(parent, span) };
}

const flagTexts = Array.from({ length: 256 }, (_, flags) => flags.toString(16).padStart(2, "0"));

/** A span context as it is stored and sent. */
export function toTraceContext({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  const traceparent = `00-${traceId}-${spanId}-${flagTexts[traceFlags & 0xff]}`;
  const tracestate = traceState?.serialize();
  return tracestate === undefined || tracestate === "" || tracestate.length > maxStateLength
    ? { traceparent }
    : { traceparent, tracestate };
}

const form = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The span context that was stored; `undefined` if it is invalid. */
export function toSpanContext(api: OpenTelemetry, traceContext: TraceContext | undefined): SpanContext | undefined {
  const [, traceId = "", spanId = "", flags = ""] = form.exec(traceContext?.traceparent ?? "") ?? [];
  const state = traceContext?.tracestate;
  const traceState = state === undefined ? undefined : api.createTraceState(state);
  const spanContext: SpanContext = {
    traceId,
    spanId,
    isRemote: true,
    traceFlags: Number.parseInt(flags, 16),
    ...(traceState === undefined ? {} : { traceState }),
  };
  return api.isSpanContextValid(spanContext) ? spanContext : undefined;
}

const getter: TextMapGetter<ReadHeader> = {
  get: (header, name) => header(name.toLowerCase()),
  // Propagators do not ask for all names.
  keys: () => [],
};

/**
 * Finds the context of a call's caller. Instrumentation of the HTTP server may have read the headers before: then its span
 * is active, and the call belongs below it.
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
  // Most callers send no context. Looking for the headers costs less than extracting.
  const hasContext = names.some((name) => header(name) !== undefined);
  const remote = hasContext ? propagation.extract(ROOT_CONTEXT, header, getter) : ROOT_CONTEXT;
  const here = trace.getSpanContext(active);
  if (here === undefined) return remote;
  const there = trace.getSpanContext(remote);
  return there === undefined || there.traceId === here.traceId ? active : remote;
}

/** The key by which an SDK leaves a context untraced: keys of the same text are equal. */
const suppressionKey = "OpenTelemetry SDK Context Key SUPPRESS_TRACING";

/** Runs a request that has its span and its headers already: instrumentation adds none. */
export function suppressTracing<T>({ context, createContextKey }: OpenTelemetry, parent: Context, request: () => T): T {
  return context.with(parent.setValue(createContextKey(suppressionKey), true), request);
}
