import type { instruments } from "../../src/telemetry/instruments.js";

type Instrument = (typeof instruments)[keyof typeof instruments];

/** The name of a metric in Prometheus, without the suffixes of a histogram. */
export function prometheusName({ name, kind }: Pick<Instrument, "name" | "kind">): string {
  const baseName = name.replaceAll(".", "_");
  return kind === "counter" ? `${baseName}_total` : baseName;
}
