import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { MeterProvider } from "@opentelemetry/api";
import type { MetricsOptions } from "./options.js";

/** Metrics served for Prometheus. */
export interface ServedMetrics {
  readonly provider: MeterProvider;
  readonly url: string;
  close(): Promise<void>;
}

const packages = "@opentelemetry/exporter-prometheus and @opentelemetry/sdk-metrics";

/** Serves what is measured with a provider of its own at `/metrics`. Rejects when a package is missing or the port taken. */
export async function serveMetrics({ port, host = "127.0.0.1" }: MetricsOptions): Promise<ServedMetrics> {
  const { PrometheusExporter, MeterProvider } = await load();
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const provider = new MeterProvider({ readers: [exporter] });
  const server = createServer((request, response) => {
    const [path] = (request.url ?? "").split("?");
    if (path === "/metrics") return exporter.getMetricsRequestHandler(request, response);
    response.writeHead(404, { "content-type": "text/plain" }).end("metrics are at /metrics\n");
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) =>
      reject(new Error(`metrics cannot be served at port ${port} on ${host}`, { cause })),
    );
    server.listen(port, host, resolve);
  });
  server.unref();
  const bound = server.address() as AddressInfo;
  const name = bound.family === "IPv6" ? `[${bound.address}]` : bound.address;
  return {
    provider,
    url: `http://${name}:${bound.port}/metrics`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await provider.shutdown();
    },
  };
}

async function load() {
  try {
    const [{ PrometheusExporter }, { MeterProvider }] = await Promise.all([
      import("@opentelemetry/exporter-prometheus"),
      import("@opentelemetry/sdk-metrics"),
    ]);
    return { PrometheusExporter, MeterProvider };
  } catch (cause) {
    throw new TypeError(`telemetry.metrics needs the packages ${packages}: run npm install for both`, { cause });
  }
}
