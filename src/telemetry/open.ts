import { loadOpenTelemetry } from "./api.js";
import type { TelemetryOptions } from "./options.js";
import type { Telemetry } from "./telemetry.js";

/** Opens the telemetry of a server. `undefined` if it is off (`HostOptions`); its code is then not loaded. */
export async function openTelemetry(setting: boolean | TelemetryOptions | undefined): Promise<Telemetry | undefined> {
  const isOptions = typeof setting === "object";
  const api = await loadOpenTelemetry(isOptions ? true : setting);
  return api && (await import("./create-telemetry.js")).createTelemetry(api, isOptions ? setting : {});
}
