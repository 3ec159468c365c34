import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type RunningExample, startExample, watchProgram } from "../support/example.js";
import { fixedPort } from "../support/fixed-port.js";
import { receiveOtlp } from "../support/otlp-receiver.js";

let folder: string;
const running: RunningExample[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-telemetry-"));
});
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop("SIGKILL");
  rmSync(folder, { recursive: true });
});

it("the example telemetry shows a report as one trace, although its process is killed in the middle", {
  timeout: 60_000,
}, async () => {
  await using receiver = await receiveOtlp();
  const port = await fixedPort();
  const exported = (name: string): Record<string, string> => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_SERVICE_NAME: name,
    OTEL_BSP_SCHEDULE_DELAY: "50",
    OTEL_NODE_RESOURCE_DETECTORS: "env",
  });
  const start = async (name: string): Promise<RunningExample> => {
    const settings = { STORE: join(folder, "tasks.db"), LINE_MS: "300", LEASE_MS: "2000", PORT: String(port) };
    const server = await startExample("telemetry", { ...settings, ...exported(name) });
    running.push(server);
    return server;
  };
  const spansOf = (service: string, name: string) =>
    receiver.spans.filter((span) => span.service === service && span.name === name);

  const first = await start("first");
  const client = watchProgram("examples/telemetry/client.ts", [first.url], exported("client"));
  await client.waitForOutput("Wind from the west.");
  await expect.poll(() => spansOf("first", "write a line").length).toBeGreaterThan(0);
  await first.stop("SIGKILL");
  await start("second");
  const { code, output } = await client.result;
  expect(code).toBe(0);
  const [, traceId] = /trace (\w+)/.exec(output) ?? [];
  expect(output).toBe(
    `trace ${traceId}\nHigh water at 04:31.\nWind from the west.\nSmall craft stay in port.\nFog in the evening.\n`,
  );

  await expect.poll(() => spansOf("second", "invoke_agent Reporter")).toHaveLength(1);
  const [again] = spansOf("second", "invoke_agent Reporter");
  const [call] = spansOf("client", "lf.a2a.v1.A2AService/SendStreamingMessage");
  const [subscription] = spansOf("second", "lf.a2a.v1.A2AService/SubscribeToTask");
  expect(again).toMatchObject({
    traceId,
    attributes: { "trivium.turn.cause": "restart", "trivium.turn.attempt": 2, "trivium.turn.outcome": "completed" },
  });
  expect(call).toMatchObject({ traceId, events: expect.arrayContaining(["trivium.client.resume"]) });
  expect(subscription).toMatchObject({ traceId, parentId: call?.spanId });
  const written = [...spansOf("first", "write a line"), ...spansOf("second", "write a line")];
  expect(spansOf("second", "write a line").length).toBeGreaterThan(0);
  for (const span of written) expect(span.traceId).toBe(traceId);
  for (const span of spansOf("second", "write a line")) expect(span.parentId).toBe(again?.spanId);
});
