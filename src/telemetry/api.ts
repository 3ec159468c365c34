import { isObject } from "../protocol/kinds.js";

/** The package `@opentelemetry/api`, an optional peer: it is loaded when it is used. */
export type OpenTelemetry = typeof import("@opentelemetry/api");

/** The key under which an SDK registers itself for every copy of the API. The number is the API's major version. */
const registryKey = Symbol.for("opentelemetry.js.api.1");

/** Whether an SDK has registered itself in this process. */
function isRegistered(): boolean {
  const registry: unknown = Reflect.get(globalThis, registryKey);
  return isObject(registry) && ("trace" in registry || "metrics" in registry);
}

/**
 * Loads the API of OpenTelemetry. Returns `undefined` if telemetry is off, or if nothing is set and no SDK has been
 * started. Throws a `TypeError` if telemetry is on and the package is missing.
 */
export async function loadOpenTelemetry(setting: boolean | undefined): Promise<OpenTelemetry | undefined> {
  if (setting === false || (setting === undefined && !isRegistered())) return undefined;
  try {
    return await import("@opentelemetry/api");
  } catch (cause) {
    if (setting === undefined) return undefined;
    throw new TypeError("telemetry needs the package @opentelemetry/api: run npm install @opentelemetry/api", {
      cause,
    });
  }
}
