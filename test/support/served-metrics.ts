import { type AgentOptions, type AgentServer, serve } from "trivium";
import { Client } from "../../src/client/node.js";
import { recordingLogger } from "./recording-logger.js";

const card = { name: "Measured", description: "d", version: "1" };

/** A server that serves its metrics for Prometheus. */
export interface ServedMetrics extends AsyncDisposable {
  readonly client: Client;
  readonly server: AgentServer;
  readonly url: string;
  /** The metrics as they are served now. */
  scrape(): Promise<string>;
}

/** Serves an agent with its metrics. */
export async function serveMetrics(
  options: Pick<AgentOptions, "agent"> & Partial<AgentOptions>,
): Promise<ServedMetrics> {
  const { log, logger } = recordingLogger();
  const server = await serve({ card, port: 0, logger, drainMs: 0, ...options, telemetry: { metrics: { port: 0 } } });
  const client = await Client.connect(server.url, { retry: false });
  const { url } = Object(log.find(({ message }) => message === "metrics are served")?.fields) as {
    readonly url: string;
  };
  return {
    client,
    server,
    url,
    scrape: async () => (await fetch(url)).text(),
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}

/** The value of a metric with these labels. */
export function amountOf(text: string, name: string, ...labels: readonly string[]): number | undefined {
  const line = text
    .split("\n")
    .find((each) => each.startsWith(`${name}{`) && labels.every((label) => each.includes(label)));
  return line === undefined ? undefined : Number(line.split(" ").at(1));
}
