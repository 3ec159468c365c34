import { channel } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { type AgentOptions, completed, inputRequired, serve } from "trivium";
import { describe, expect, it, vi } from "vitest";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { instruments } from "../../src/telemetry/instruments.js";
import { webhook } from "../push/receiver.js";
import { prometheusName } from "../support/prometheus-name.js";
import { errorOf, say } from "../support/say.js";
import { amountOf, serveMetrics } from "../support/served-metrics.js";

const card = { name: "Measured", description: "d", version: "1" };

const ofClients = new Set<string>([
  instruments.clientCall.name,
  instruments.retries.name,
  instruments.fallbacks.name,
  instruments.resumes.name,
]);

describe("metrics of a server", () => {
  it("metrics of a server name the service by the SDK's variables", async () => {
    vi.stubEnv(
      "OTEL_RESOURCE_ATTRIBUTES",
      "deployment.environment.name=blue%20green,service.name=other,broken,bad=%zz",
    );
    vi.stubEnv("OTEL_SERVICE_NAME", "tides");
    try {
      await using server = await serveMetrics({ agent: async () => completed() });
      const [info] = (await server.scrape()).split("\n").filter((line) => line.startsWith("target_info{"));
      expect(info).toContain('service_name="tides"');
      expect(info).toContain('deployment_environment_name="blue green"');
      expect(info).toContain('bad="%zz"');
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it("metrics of a server are served for Prometheus, each of them, on a port of their own on loopback", async () => {
    await using hook = await webhook();
    hook.answer = () => 400;
    const store = sqliteStore({ path: ":memory:" });
    const agent: AgentOptions["agent"] = async function* ({ text, ask }) {
      if (text === "ask") await ask(inputRequired("what?"));
      yield completed("x".repeat(10_000));
    };
    const push = { allow: "loopback" } as const;
    await using here = await serveMetrics({ agent, store, push, limits: { turnsPerOwner: 1, turnWaitMs: 0 } });
    const { client } = here;
    expect(new URL(here.url).hostname).toBe("127.0.0.1");
    const configuration = { taskPushNotificationConfig: { url: hook.url } };
    await client.sendMessage(say("go", { configuration }));
    const question = await client.send("ask");
    expect(await errorOf(client.send("too many"))).toBeDefined();
    const text = await here.scrape();
    expect(amountOf(text, "trivium_turns", 'trivium_turn_state="waiting"')).toBe(1);
    expect(amountOf(text, "trivium_server_refused_total", 'trivium_limit="turnsPerOwner"')).toBe(1);
    await client.send("enough", { continue: question });
    await expect.poll(here.scrape).toContain("trivium_push_dead_total{");
    const names = Object.values(instruments).filter(
      ({ name }) => !ofClients.has(name) && name !== "trivium.turn.store_wait",
    );
    const all = await here.scrape();
    for (const each of names) expect(all, each.name).toContain(`\n${prometheusName(each)}`);
    const calls = ['rpc_method="lf.a2a.v1.A2AService/SendMessage"', 'a2a_protocol_binding="JSONRPC"'] as const;
    expect(amountOf(all, "rpc_server_call_duration_count", ...calls, 'error_type="resourceExhausted"')).toBe(1);
    expect(amountOf(all, "gen_ai_invoke_agent_duration_count", 'trivium_turn_outcome="completed"')).toBe(2);
    await store.close();
  });

  it("metrics of a server are collected once for all that ask at the same time, and at most every 100 ms", async () => {
    await using here = await serveMetrics({ agent: async () => completed() });
    let held = Promise.withResolvers<void>();
    const begun: number[] = [];
    const collect = PrometheusExporter.prototype.collect;
    const collections = vi.spyOn(PrometheusExporter.prototype, "collect").mockImplementation(async function (
      this: PrometheusExporter,
    ) {
      begun.push(performance.now());
      await held.promise;
      return collect.call(this);
    });
    const requests = channel("http.server.request.start");
    /** The texts of 20 scrapes, of which all have arrived before a collection can end, and when that was. */
    const scrapeTogether = async (): Promise<{ readonly texts: string[]; readonly allArrivedAt: number }> => {
      held = Promise.withResolvers<void>();
      const all = Promise.withResolvers<void>();
      let waiting = 20;
      const arrived = (message: unknown): void => {
        const { request } = message as { readonly request: IncomingMessage };
        if (request.url === "/metrics" && --waiting === 0) all.resolve();
      };
      requests.subscribe(arrived);
      try {
        const scrapes = Array.from({ length: waiting }, here.scrape);
        await all.promise;
        const allArrivedAt = performance.now();
        held.resolve();
        return { texts: await Promise.all(scrapes), allArrivedAt };
      } finally {
        requests.unsubscribe(arrived);
      }
    };
    try {
      const first = await scrapeTogether();
      expect([collections.mock.calls.length, new Set(first.texts).size]).toEqual([1, 1]);
      await here.client.send("go");
      const later = await scrapeTogether();
      expect(later.texts.map((text) => amountOf(text, "gen_ai_invoke_agent_duration_count"))).toEqual(
        Array(20).fill(1),
      );
      expect(collections).toHaveBeenCalledTimes(2);
      // The first collection ended after its scrapes had arrived. A timer may be a millisecond early.
      expect((begun[1] ?? 0) - first.allArrivedAt).toBeGreaterThan(98);
    } finally {
      collections.mockRestore();
    }
  });

  it("metrics of a server end with it, and only they are at their port", async () => {
    const here = await serveMetrics({ agent: async () => completed() });
    expect((await fetch(new URL("/", here.url))).status).toBe(404);
    await here[Symbol.asyncDispose]();
    await expect(fetch(here.url)).rejects.toThrow();
  });

  it("metrics of a server stop the start when their port is taken", async () => {
    await using here = await serveMetrics({ agent: async () => completed() });
    const metrics = { port: Number(new URL(here.url).port) };
    const start = serve({ card, agent: async () => completed(), port: 0, logger: false, telemetry: { metrics } });
    await expect(start).rejects.toThrow(/metrics cannot be served at port \d+ on 127\.0\.0\.1/);
  });
});
