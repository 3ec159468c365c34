import { type Context, metrics, propagation } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { core } from "@opentelemetry/sdk-node";
import { reply, serve } from "trivium";
import { expect, it } from "vitest";
import { postJson } from "../support/http-agent.js";

it("a view of metrics may read the caller's baggage where a call and its turn are measured", async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter });
  const customer = (within: Context | undefined) =>
    within === undefined ? undefined : propagation.getBaggage(within)?.getEntry("customer")?.value;
  const view = {
    instrumentName: "*",
    attributesProcessors: [
      { process: (attributes: object, within?: Context) => ({ ...attributes, customer: customer(within) }) },
    ],
  };
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader], views: [view] }));
  propagation.setGlobalPropagator(new core.W3CBaggagePropagator());
  try {
    const card = { name: "Measured", description: "d", version: "1" };
    const server = await serve({ card, agent: async () => reply("done"), port: 0, logger: false });
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] };
    const request = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
    await postJson(`${server.url}/json-rpc`, request, { "a2a-version": "1.0", baggage: "customer=north" });
    await server.close();
    const allMetrics =
      exporter
        .getMetrics()
        .at(-1)
        ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
    for (const name of ["rpc.server.call.duration", "gen_ai.invoke_agent.duration"]) {
      const points = allMetrics.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? [];
      expect(
        points.map(({ attributes }) => attributes["customer"]),
        name,
      ).toEqual(["north"]);
    }
  } finally {
    for (const api of [metrics, propagation]) api.disable();
  }
});
