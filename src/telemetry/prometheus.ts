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

const plain = { "content-type": "text/plain" };
const packages = "@opentelemetry/exporter-prometheus and @opentelemetry/sdk-metrics";

/** Serves what is measured with a provider of its own at `/metrics`. Rejects when a package is missing or the port taken. */
export async function serveMetrics(
  { diag }: OpenTelemetry,
  { port, host = "127.0.0.1" }: MetricsOptions,
): Promise<ServedMetrics> {
  const { PrometheusExporter, PrometheusSerializer, MeterProvider } = await load();
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer();
  const collect = paced(async () => {
    const { resourceMetrics, errors } = await exporter.collect();
    if (errors.length > 0) diag.error("some metrics could not be collected", ...errors);
    return serializer.serialize(resourceMetrics);
  });
  const provider = new MeterProvider({ readers: [exporter], ...resourceOf(process.env) });
  const server = createServer((request, response) => {
    const [path] = (request.url ?? "").split("?");
    if (path === "/metrics") {
      collect().then(
        (text) => response.writeHead(200, plain).end(text),
        (error: unknown) => {
          diag.error("metrics could not be collected", error);
          response.writeHead(500, plain).end("metrics could not be collected\n");
        },
      );
      return;
    }
    response.writeHead(404, plain).end("metrics are at /metrics\n");
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

/** The time between two collections, in milliseconds: a flood of scrapes costs about a hundredth of the processor. */
const pauseMs = 100;

/** Collects once for all that ask at the same time. Those that ask during the rest after it wait for the next time. */
function paced(collect: () => Promise<string>): () => Promise<string> {
  let next: Promise<string> | undefined;
  let restUntil = 0;
  const rested = async (): Promise<string> => {
    const rest = restUntil - performance.now();
    if (rest > 0) await pause(systemClock, rest);
    try {
      return await collect();
    } finally {
      next = undefined;
      restUntil = performance.now() + pauseMs;
    }
  };
  return () => {
    next ??= rested();
    return next;
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
    const [{ PrometheusExporter, PrometheusSerializer }, { MeterProvider }] = await Promise.all([
      import("@opentelemetry/exporter-prometheus"),
      import("@opentelemetry/sdk-metrics"),
    ]);
    return { PrometheusExporter, PrometheusSerializer, MeterProvider };
  } catch (cause) {
    throw new TypeError(`telemetry.metrics needs the packages ${packages}: run npm install for both`, { cause });
  }
}
