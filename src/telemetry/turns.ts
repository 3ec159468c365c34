import type { Attributes, Context, Link, Tracer } from "@opentelemetry/api";
import { A2AError } from "../protocol/errors.js";
import type { TaskState } from "../protocol/model.js";
import { stateName } from "../protocol/states.js";
import type { TracedTask, TracedTurn, TurnOutcome, TurnTelemetry, TurnTrace } from "../protocol/telemetry/follow.js";
import type { Trace, TraceContext } from "../protocol/telemetry/trace.js";
import type { OpenTelemetry } from "./api.js";
import { memoize } from "./memo.js";
import { type Meters, scope } from "./meters.js";
import type { ExceptionDetail } from "./options.js";
import type { FollowedAgent } from "./telemetry.js";
import { SpanTrace, type StartedSpan, startedSpan, toSpanContext, toTraceContext } from "./trace-context.js";

interface TurnKind {
  readonly api: OpenTelemetry;
  readonly meters: Meters;
  readonly exceptions: ExceptionDetail;
  /** Attributes of metrics. */
  readonly agent: Attributes;
  /** Attributes of the end of a turn, shared by turns that ended alike. */
  readonly endAttributes: (
    cause: TracedTurn["cause"],
  ) => (outcome: TurnOutcome) => (error: string | undefined) => Attributes;
}

const operation = { "gen_ai.operation.name": "invoke_agent" };
/** Shortest wait for the store that is an event of its turn's span, in milliseconds. */
const notableWaitMs = 1;

/** Follows turns by the conventions for agents. The agent runs in the context of the span of its turn. */
export function followTurns(
  { api, meters, exceptions }: Pick<TurnKind, "api" | "meters" | "exceptions">,
  { name: agentName, version }: FollowedAgent,
): TurnTelemetry {
  const tracer = api.trace.getTracer(...scope);
  const agent = { "gen_ai.agent.name": agentName };
  const name = `invoke_agent ${agentName}`;
  const attributes = { ...operation, ...agent, "gen_ai.agent.version": version };
  const kind: TurnKind = { api, meters, exceptions, agent, endAttributes: createEndAttributes(agent) };
  return {
    begin(turn) {
      const { parent, before } = turn;
      // The call is not recorded, so neither is what follows from it.
      if (parent instanceof SpanTrace && !parent.isSampled) return new AgentTurnTrace(kind, turn, parent.started);
      const context = enterParent(api, parent);
      const span = tracer.startSpan(name, { attributes, links: linksTo(api, before) }, context);
      return new AgentTurnTrace(kind, turn, startedSpan(api, context, span));
    },
    wake: (task, before) => markWake({ api, tracer, agent }, task, before),
  };
}

function createEndAttributes(agent: Attributes): TurnKind["endAttributes"] {
  return memoize((cause) =>
    memoize((outcome) =>
      memoize((error) => ({
        ...operation,
        ...agent,
        "trivium.turn.outcome": outcome,
        "trivium.turn.cause": cause,
        ...(error === undefined ? {} : { "error.type": error }),
      })),
    ),
  );
}

/** A wake has its own span, exported at once: a turn that crashes and runs again still has its parent in the trace. */
function markWake(
  { api, tracer, agent }: { readonly api: OpenTelemetry; readonly tracer: Tracer; readonly agent: Attributes },
  task: TracedTask,
  before: TraceContext | undefined,
): TraceContext {
  const attributes = { ...agent, "a2a.task.id": task.taskId, "gen_ai.conversation.id": task.contextId };
  const span = tracer.startSpan("wake", { attributes, links: linksTo(api, before) });
  span.end();
  return toTraceContext(span.spanContext());
}

function enterParent(api: OpenTelemetry, parent: TracedTurn["parent"]): Context {
  if (parent instanceof SpanTrace) return parent.otelContext;
  const spanContext = toSpanContext(api, readTraceContext(parent));
  return spanContext === undefined ? api.ROOT_CONTEXT : api.trace.setSpanContext(api.ROOT_CONTEXT, spanContext);
}

function readTraceContext(parent: Trace | TraceContext | undefined): TraceContext | undefined {
  return parent === undefined || "traceparent" in parent ? parent : parent.context;
}

function linksTo(api: OpenTelemetry, traceContext: TraceContext | undefined): Link[] {
  if (traceContext === undefined) return [];
  const context = toSpanContext(api, traceContext);
  return context === undefined ? [] : [{ context }];
}

class AgentTurnTrace extends SpanTrace implements TurnTrace {
  readonly #kind: TurnKind;
  readonly #turn: TracedTurn;
  readonly #startedAt = performance.now();
  readonly isRecorded: boolean;
  #hasEmitted = false;
  #firstSeconds = 0;

  constructor(kind: TurnKind, turn: TracedTurn, started: StartedSpan) {
    super(kind.api, started);
    const { span } = started;
    this.#kind = kind;
    this.#turn = turn;
    this.isRecorded = span.isRecording();
    const { cause, attempt, parent, contextId } = turn;
    if (parent instanceof SpanTrace) parent.span.setAttribute("gen_ai.conversation.id", contextId);
    if (!this.isRecorded) return;
    const startAttributes = { "trivium.turn.cause": cause, "trivium.turn.attempt": attempt };
    span.setAttributes({ "gen_ai.conversation.id": contextId, ...startAttributes });
  }

  setTask(taskId: string): void {
    const { parent } = this.#turn;
    if (parent instanceof SpanTrace) parent.span.setAttribute("a2a.task.id", taskId);
    this.span.setAttribute("a2a.task.id", taskId);
  }

  countEvent(): void {
    if (this.#hasEmitted) return;
    this.#hasEmitted = true;
    this.#firstSeconds = this.#seconds();
    if (this.isRecorded) this.span.addEvent("trivium.turn.first_event");
  }

  noteState(state: TaskState): void {
    this.span.addEvent("a2a.task.status", { "a2a.task.state": stateName(state) });
  }

  addWait(ms: number): void {
    const { meters, agent } = this.#kind;
    meters.recordLater("storeWait", ms / 1_000, agent, this.exemplarContext);
    if (ms >= notableWaitMs) this.span.addEvent("trivium.turn.store_wait", { "trivium.turn.store_wait.ms": ms });
  }

  link(from: TraceContext | undefined): void {
    if (!this.isRecorded) return;
    for (const link of linksTo(this.api, from)) this.span.addLink(link);
    this.span.addEvent("trivium.turn.message");
  }

  end(outcome: TurnOutcome, error: unknown): void {
    const { meters, agent, endAttributes } = this.#kind;
    const type = outcome === "failed" || outcome === "refused" ? describeError(error) : undefined;
    const attributes = endAttributes(this.#turn.cause)(outcome)(type);
    const { exemplarContext: measured } = this;
    meters.recordLater("turn", this.#seconds(), attributes, measured);
    // A reply without a task is the whole turn.
    if (this.#hasEmitted && outcome !== "replied") {
      meters.recordLater("firstEvent", this.#firstSeconds, agent, measured);
    }
    if (!this.isRecorded) return;
    this.span.setAttributes(attributes);
    if (outcome === "failed") this.span.setStatus({ code: this.api.SpanStatusCode.ERROR });
    if (outcome === "failed" && error instanceof Error) {
      this.span.recordException(this.#kind.exceptions === "full" ? error : { name: describeError(error) });
    }
    this.span.end();
  }

  #seconds(): number {
    return (performance.now() - this.#startedAt) / 1_000;
  }
}

/** The value of `error.type`: the code of our errors, the name of others. */
function describeError(error: unknown): string {
  if (error instanceof A2AError) return error.code;
  return error instanceof Error && error.name !== "" ? error.name : "_OTHER";
}
