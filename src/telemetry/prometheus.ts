import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Attributes, MeterProvider } from "@opentelemetry/api";
import type { MeterProviderOptions } from "@opentelemetry/sdk-metrics";
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
  const provider = new MeterProvider({ readers: [exporter], ...resourceOf(process.env) });
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

/** The service by the SDK's variables, which the provider does not read by itself; nothing where none is set. */
function resourceOf(env: NodeJS.ProcessEnv): Pick<MeterProviderOptions, "resource"> {
  const pairs = (env["OTEL_RESOURCE_ATTRIBUTES"] ?? "").split(",").flatMap((pair) => {
    const [, name, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
    return name === undefined || value === undefined ? [] : [[name, decoded(value)] as const];
  });
  const service = env["OTEL_SERVICE_NAME"];
  if (service) pairs.push(["service.name", service]);
  if (pairs.length === 0) return {};
  return { resource: resourceWith({ "service.name": "unknown_service:node", ...Object.fromEntries(pairs) }) };
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** A resource without a package of its own: the providers of SDK 2 and 3 read only these members. */
function resourceWith(attributes: Attributes): NonNullable<MeterProviderOptions["resource"]> {
  return {
    attributes,
    merge: (other) =>
      other === null ? resourceWith(attributes) : resourceWith({ ...attributes, ...other.attributes }),
    getRawAttributes: () => Object.entries(attributes),
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
