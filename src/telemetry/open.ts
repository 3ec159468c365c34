import { loadOpenTelemetry } from "./api.js";
import type { TelemetryOptions } from "./options.js";
import type { Telemetry } from "./telemetry.js";

/** Opens the telemetry of a server; `undefined` if there is none, see `HostOptions`. Its code is loaded if there is. */
export async function openTelemetry(wanted: boolean | TelemetryOptions | undefined): Promise<Telemetry | undefined> {
  const isOptions = typeof wanted === "object";
  const api = await loadOpenTelemetry(isOptions ? true : wanted);
  return api && (await import("./create-telemetry.js")).createTelemetry(api, isOptions ? wanted : {});
}
