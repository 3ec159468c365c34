import { loadOpenTelemetry } from "./api.js";
import type { TelemetryOptions } from "./options.js";
import type { Telemetry } from "./telemetry.js";

/** Opens the telemetry of a server. `undefined` if it is off (`HostOptions`); its code is then not loaded. */
export async function openTelemetry(setting: boolean | TelemetryOptions | undefined): Promise<Telemetry | undefined> {
  const options = typeof setting === "object" ? setting : {};
  // Metrics are also served without an SDK.
  const isOn = typeof setting === "object" ? setting.metrics && true : setting;
  const api = await loadOpenTelemetry(isOn);
  return api && (await import("./create-telemetry.js")).createTelemetry(api, options);
}
