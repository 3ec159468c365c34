import type { Attributes, SpanKind, SpanOptions } from "@opentelemetry/api";
import type { Operation } from "../protocol/operations.js";
import type { CallOutcome, CallTelemetry, CallTrace } from "../protocol/telemetry/follow.js";
import type { OpenTelemetry } from "./api.js";
import { type CallInterface, callAttributes, isServerFault, outcomeAttributes } from "./calls.js";
import { memoize } from "./memo.js";
import { type Meters, scope } from "./meters.js";
import type { ExceptionDetail } from "./options.js";
import { callerContexts, SpanTrace, type StartedSpan, startedSpan } from "./trace-context.js";

/** Shared by all calls of one operation over one binding in one version. */
interface CallKind {
  readonly exceptions: ExceptionDetail;
  readonly api: OpenTelemetry;
  readonly meters: Meters;
  readonly agent: Attributes;
  readonly binding: string;
  readonly name: string;
  /** The few attributes that a sampler sees: an SDK copies them for each call, also for those that it drops. */
  readonly samplerAttributes: Attributes;
  /** Attributes of a sampled span. */
  readonly attributes: Attributes;
  /** Attributes of its metric. */
  readonly outcome: (code: CallOutcome["code"]) => Attributes;
}

/** Follows the calls of an agent's server with a span and a duration each. */
export function followServerCalls(
  { api, meters, exceptions }: Pick<CallKind, "api" | "meters" | "exceptions">,
  agent: Attributes,
): CallTelemetry {
  const tracer = api.trace.getTracer(...scope);
  const contextFor = callerContexts(api);
  const findKind = memoize((operation: Operation | undefined) =>
    memoize((binding: string) =>
      memoize((version: string | undefined): CallKind => {
        const attributes = kindAttributes(operation, { binding, version }, agent);
        return { api, meters, exceptions, agent, binding, ...attributes };
      }),
    ),
  );
  return {
    begin({ binding, operation, version, header }, ageMs) {
      const kind = findKind(operation)(binding)(version);
      const parent = contextFor(header);
      const span = tracer.startSpan(
        kind.name,
        new SpanStart(api.SpanKind.SERVER, kind.samplerAttributes, ageMs),
        parent,
      );
      return new ServerCallTrace(kind, startedSpan(api, parent, span));
    },
  };
}

/** The start of a call's span. */
class SpanStart implements SpanOptions {
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly #ageMs: () => number;

  constructor(kind: SpanKind, attributes: Attributes, ageMs: () => number) {
    this.kind = kind;
    this.attributes = attributes;
    this.#ageMs = ageMs;
  }

  /** A getter, since an SDK reads it only for sampled spans, which are few. */
  get startTime(): number {
    return wallNow() - this.#ageMs();
  }
}

function kindAttributes(operation: Operation | undefined, callInterface: CallInterface, agent: Attributes) {
  const attributes = callAttributes(operation, callInterface);
  const outcome = memoize((code: CallOutcome["code"]) => ({
    ...attributes,
    ...outcomeAttributes(code, callInterface.binding),
    ...agent,
  }));
  const { "rpc.system.name": system, "rpc.method": method } = attributes;
  const name = operation === undefined ? "call" : String(method);
  return { name, samplerAttributes: { "rpc.system.name": system, "rpc.method": method }, attributes, outcome };
}

/** The wall time in milliseconds, with fractions: calls are shorter than one. */
function wallNow(): number {
  return performance.timeOrigin + performance.now();
}

class ServerCallTrace extends SpanTrace implements CallTrace {
  readonly #kind: CallKind;

  constructor(kind: CallKind, started: StartedSpan) {
    super(kind.api, started);
    this.#kind = kind;
  }

  end(outcome: CallOutcome): void {
    const { agent, attributes, meters, outcome: toAttributes } = this.#kind;
    const { code, durationMs, error } = outcome;
    meters.recordLater("serverCall", durationMs / 1_000, toAttributes(code), this.exemplarContext);
    const limit = error?.metadata["limit"];
    if (limit !== undefined && (code === "resourceExhausted" || code === "unavailable")) {
      meters.count("refused", { "trivium.limit": limit, "rpc.method": attributes["rpc.method"], ...agent });
    }
    if (!this.span.isRecording()) return;
    this.#describe(outcome);
    this.span.end(wallNow());
  }

  #describe({ code, error, requestId, events }: CallOutcome): void {
    const { span, api } = this;
    const { attributes, binding, exceptions } = this.#kind;
    span.setAttributes({
      ...attributes,
      ...outcomeAttributes(code, binding),
      "trivium.request.id": requestId,
      ...(events === undefined ? {} : { "trivium.stream.events": events }),
    });
    if (!isServerFault(code)) return;
    const message = exceptions === "full" ? (error?.message ?? code) : code;
    span.setStatus({ code: api.SpanStatusCode.ERROR, message });
  }
}
