import type { Attributes, Context, Span } from "@opentelemetry/api";
import type { Operation } from "../protocol/operations.js";
import type { BegunCall, CallOutcome, CallTelemetry, CallTrace } from "../protocol/telemetry/follow.js";
import type { OpenTelemetry } from "./api.js";
import { type CallWay, callAttributes, isServerFault, outcomeAttributes } from "./calls.js";
import { type Meters, scopeName } from "./meters.js";
import { callerContexts, SpanTrace } from "./trace-context.js";

/** What all calls of one operation over one binding in one version have in common. */
interface CallKind {
  readonly name: string;
  readonly attributes: Attributes;
  /** Attributes of its metric by outcome, made once: a call is short. */
  readonly outcomes: Map<string, Attributes>;
}

/** Follows the calls of an agent's server with a span and a duration each. */
export function followServerCalls(api: OpenTelemetry, meters: Meters, agent: Attributes): CallTelemetry {
  const tracer = api.trace.getTracer(scopeName);
  const contextFor = callerContexts(api);
  const kinds = new Map<Operation | undefined, Map<string, CallKind>>();
  const kindOf = (operation: Operation | undefined, way: CallWay): CallKind => {
    const ways = kinds.get(operation) ?? new Map<string, CallKind>();
    kinds.set(operation, ways);
    const key = `${way.binding} ${way.version}`;
    const kind = ways.get(key) ?? callKind(operation, way);
    ways.set(key, kind);
    return kind;
  };
  return {
    begin(call) {
      const { binding, operation, version, header, ageMs } = call;
      const kind = kindOf(operation, { binding, version });
      const parent = contextFor(header);
      const startTime = wallNow() - ageMs;
      const options = { kind: api.SpanKind.SERVER, attributes: kind.attributes, startTime };
      const span = tracer.startSpan(kind.name, options, parent);
      return new ServerCallTrace(span, api.trace.setSpan(parent, span), { api, meters, agent, kind, call, startTime });
    },
  };
}

function callKind(operation: Operation | undefined, way: CallWay): CallKind {
  const attributes = callAttributes(operation, way);
  return { name: operation === undefined ? "call" : String(attributes["rpc.method"]), attributes, outcomes: new Map() };
}

/** The wall time in milliseconds, with fractions: calls are shorter than one. */
function wallNow(): number {
  return performance.timeOrigin + performance.now();
}

interface CallFacts {
  readonly api: OpenTelemetry;
  readonly meters: Meters;
  readonly agent: Attributes;
  readonly kind: CallKind;
  readonly call: BegunCall;
  readonly startTime: number;
}

class ServerCallTrace extends SpanTrace implements CallTrace {
  readonly #facts: CallFacts;

  constructor(span: Span, within: Context, facts: CallFacts) {
    super(facts.api, span, within);
    this.#facts = facts;
  }

  ended(outcome: CallOutcome): void {
    const { kind, call, meters, startTime } = this.#facts;
    const { code, durationMs, error } = outcome;
    const attributes = this.#metricAttributes(code);
    meters.record("serverCall", durationMs / 1_000, attributes, this.within);
    const limit = error?.metadata["limit"];
    if (limit !== undefined && (code === "resourceExhausted" || code === "unavailable")) {
      meters.count("refused", {
        "trivium.limit": limit,
        "rpc.method": kind.attributes["rpc.method"],
        ...this.#facts.agent,
      });
    }
    if (this.span.isRecording()) this.#describe(outcome, call.binding);
    this.span.end(startTime + durationMs);
  }

  #metricAttributes(code: CallOutcome["code"]): Attributes {
    const { kind, call, agent } = this.#facts;
    const known = kind.outcomes.get(code) ?? {
      ...kind.attributes,
      ...outcomeAttributes(code, call.binding),
      ...agent,
    };
    kind.outcomes.set(code, known);
    return known;
  }

  #describe({ code, error, requestId, events }: CallOutcome, binding: string): void {
    const { span, api } = this;
    span.setAttributes({
      ...outcomeAttributes(code, binding),
      "trivium.request.id": requestId,
      ...(events === undefined ? {} : { "trivium.stream.events": events }),
    });
    if (isServerFault(code)) span.setStatus({ code: api.SpanStatusCode.ERROR, message: error?.message ?? code });
  }
}
