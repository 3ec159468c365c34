import type { Attributes } from "@opentelemetry/api";
import type { WebhookTelemetry } from "../protocol/telemetry/follow.js";
import type { OpenTelemetry } from "./api.js";
import { type Meters, scope } from "./meters.js";
import { suppressTracing, toSpanContext } from "./trace-context.js";

/** Follows calls of webhooks. Each has its own trace, linked to the cause of the turn that it reports. */
export function followWebhooks(api: OpenTelemetry, meters: Meters, agent: Attributes): WebhookTelemetry {
  const { propagation, trace } = api;
  const tracer = trace.getTracer(...scope);
  return {
    async call({ taskId, url, cause }, deliver) {
      const { hostname, port, protocol } = new URL(url);
      const server = { "server.address": hostname, "server.port": Number(port || (protocol === "https:" ? 443 : 80)) };
      const attributes = { "http.request.method": "POST", ...server, ...agent, "a2a.task.id": taskId };
      const span = tracer.startSpan("POST", { kind: api.SpanKind.CLIENT, attributes, root: true });
      const causeContext = span.isRecording() ? toSpanContext(api, await cause().catch(() => undefined)) : undefined;
      if (causeContext !== undefined) span.addLink({ context: causeContext });
      const context = trace.setSpan(api.ROOT_CONTEXT, span);
      const headers: Record<string, string> = {};
      propagation.inject(context, headers);
      const startedAt = performance.now();
      const outcome = await suppressTracing(api, context, () => deliver(headers));
      const outcomeAttributes = { "trivium.push.outcome": outcome.kind, ...agent };
      meters.record("webhook", (performance.now() - startedAt) / 1_000, outcomeAttributes, context);
      span.setAttributes(outcomeAttributes);
      if (outcome.kind !== "taken") span.setStatus({ code: api.SpanStatusCode.ERROR });
      span.end();
      return outcome;
    },
    countDropped: () => meters.count("webhooksDead", agent),
  };
}
