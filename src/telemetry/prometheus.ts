import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Attributes, MeterProvider } from "@opentelemetry/api";
import type { MeterProviderOptions } from "@opentelemetry/sdk-metrics";
import { pause } from "../protocol/async/pause.js";
import { systemClock } from "../protocol/async/system-clock.js";
import type { OpenTelemetry } from "./api.js";
import type { MetricsOptions } from "./options.js";

/** Metrics served for Prometheus. */
export interface ServedMetrics {
  readonly provider: MeterProvider;
  readonly url: string;
  close(): Promise<void>;
}

const textHeaders = { "content-type": "text/plain" };
const packages = "@opentelemetry/exporter-prometheus and @opentelemetry/sdk-metrics";

/** Serves the metrics of a new provider at `/metrics`. Rejects when a package is missing or the port is in use. */
export async function serveMetrics(
  { diag }: OpenTelemetry,
  { port, host = "127.0.0.1" }: MetricsOptions,
): Promise<ServedMetrics> {
  const { PrometheusExporter, PrometheusSerializer, MeterProvider } = await loadPackages();
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer();
  const collect = paceCollections(async () => {
    const { resourceMetrics, errors } = await exporter.collect();
    if (errors.length > 0) diag.error("some metrics could not be collected", ...errors);
    return serializer.serialize(resourceMetrics);
  });
  const provider = new MeterProvider({ readers: [exporter], ...readResource(process.env) });
  const server = createServer((request, response) => {
    const [path] = (request.url ?? "").split("?");
    if (path === "/metrics") {
      collect().then(
        (text) => response.writeHead(200, textHeaders).end(text),
        (error: unknown) => {
          diag.error("metrics could not be collected", error);
          response.writeHead(500, textHeaders).end("metrics could not be collected\n");
        },
      );
      return;
    }
    response.writeHead(404, textHeaders).end("metrics are at /metrics\n");
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) =>
      reject(new Error(`metrics cannot be served at port ${port} on ${host}`, { cause })),
    );
    server.listen(port, host, resolve);
  });
  server.unref();
  const address = server.address() as AddressInfo;
  const hostname = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return {
    provider,
    url: `http://${hostname}:${address.port}/metrics`,
    async close() {
      const closing = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closing;
      await provider.shutdown();
    },
  };
}

/** Time between two collections, in milliseconds. With it, a flood of scrapes costs about 1 % of a processor. */
const minPauseMs = 100;

/** Scrapes at the same time share a collection. Those within `minPauseMs` after it wait for the next one. */
function paceCollections(collect: () => Promise<string>): () => Promise<string> {
  let collection: Promise<string> | undefined;
  let nextAt = 0;
  const collectAfterPause = async (): Promise<string> => {
    const pauseMs = nextAt - performance.now();
    if (pauseMs > 0) await pause(systemClock, pauseMs);
    try {
      return await collect();
    } finally {
      collection = undefined;
      nextAt = performance.now() + minPauseMs;
    }
  };
  return () => {
    collection ??= collectAfterPause();
    return collection;
  };
}

/** The service by the variables of the SDK, which the provider does not read by itself. Empty if none is set. */
function readResource(env: NodeJS.ProcessEnv): Pick<MeterProviderOptions, "resource"> {
  const pairs = (env["OTEL_RESOURCE_ATTRIBUTES"] ?? "").split(",").flatMap((pair) => {
    const [, name, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
    return name === undefined || value === undefined ? [] : [[name, decodeValue(value)] as const];
  });
  const service = env["OTEL_SERVICE_NAME"];
  if (service) pairs.push(["service.name", service]);
  if (pairs.length === 0) return {};
  return { resource: resourceWith({ "service.name": "unknown_service:node", ...Object.fromEntries(pairs) }) };
}

function decodeValue(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** A resource, made without another package: the providers of SDK 2 and 3 read only these members. */
function resourceWith(attributes: Attributes): NonNullable<MeterProviderOptions["resource"]> {
  return {
    attributes,
    merge: (other) =>
      other === null ? resourceWith(attributes) : resourceWith({ ...attributes, ...other.attributes }),
    getRawAttributes: () => Object.entries(attributes),
  };
}

async function loadPackages() {
  try {
    // Awaited one by one: only then do bundlers accept that a package is not installed.
    const { PrometheusExporter, PrometheusSerializer } = await import("@opentelemetry/exporter-prometheus");
    const { MeterProvider } = await import("@opentelemetry/sdk-metrics");
    return { PrometheusExporter, PrometheusSerializer, MeterProvider };
  } catch (cause) {
    throw new TypeError(`telemetry.metrics needs the packages ${packages}: run npm install for both`, { cause });
  }
}
