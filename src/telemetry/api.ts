/** The package `@opentelemetry/api`, an optional peer: it is loaded when it is used. */
export type OpenTelemetry = typeof import("@opentelemetry/api");

/** Where every copy of the API finds what an SDK has registered; the number is the API's major version. */
const registry = Symbol.for("opentelemetry.js.api.1");

/** Whether an SDK has registered itself in this process. */
function isRegistered(): boolean {
  const registered: unknown = Reflect.get(globalThis, registry);
  return typeof registered === "object" && registered !== null && ("trace" in registered || "metrics" in registered);
}

/**
 * Loads the API of OpenTelemetry. Returns `undefined` if telemetry is off, and unless `wanted` says otherwise if no SDK
 * has been started. Throws a `TypeError` if it is wanted and the package is missing.
 */
export async function loadOpenTelemetry(wanted: boolean | undefined): Promise<OpenTelemetry | undefined> {
  if (wanted === false || (wanted === undefined && !isRegistered())) return undefined;
  try {
    return await import("@opentelemetry/api");
  } catch (cause) {
    if (wanted === undefined) return undefined;
    throw new TypeError("telemetry needs the package @opentelemetry/api: run npm install @opentelemetry/api", {
      cause,
    });
  }
}
