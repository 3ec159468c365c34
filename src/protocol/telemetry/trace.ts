/** A place in a trace, in the form of the headers of W3C Trace Context. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

/** Running work that has a span. */
export interface Trace {
  /** Its place in the trace, for what follows from it. */
  readonly context: TraceContext;
  /** Runs work whose own spans and records belong to it. */
  run<T>(work: () => T): T;
}
