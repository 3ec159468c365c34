import { A2AError } from "../protocol/errors.js";
import { parseVersion } from "../protocol/service-parameters.js";

// Detects the version of a call: the declared one, otherwise one that knows its method, route or service.

/** The adapters of a server, and how it treats callers whose declaration contradicts their call. */
export interface Detection<F> {
  /** Newest first. */
  readonly adapters: readonly F[];
  /** Enforces the declared version. Callers that declare none may only use versions that allow this. */
  readonly strict: boolean;
}

interface NamedVersion {
  readonly version: string;
  readonly isImplied: boolean;
}

/**
 * Reads the version a caller declares by header, metadata or query parameter, and checks that it is one of `served`.
 * Returns `undefined` if the caller declares none; then the method, route or service decides. Throws
 * `versionNotSupported` (spec 3.6.2).
 */
export function declaredVersion(value: string | undefined, served: readonly string[]): string | undefined {
  if (value !== undefined && served.includes(value)) return value;
  // A repeated header arrives joined by commas: the first value counts.
  const [firstValue = ""] = value?.split(",", 1) ?? [];
  if (firstValue.trim() === "") return undefined;
  const version = parseVersion(firstValue);
  if (version !== undefined && served.includes(version)) return version;
  // If 0.2 is not served, its calls go to 0.3.
  const fallback = version === "0.2" ? "0.3" : undefined;
  if (fallback !== undefined && served.includes(fallback)) return fallback;
  throw notServedError(firstValue, served);
}

/**
 * Returns the adapters that may take a call, best first: those of the declared version, otherwise those that know the
 * method, route or service. In strict mode, skips adapters of versions other than the declared one, and those that
 * require a declaration if there is none. Throws `versionNotSupported` if no adapter remains only because of that.
 */
export function adaptersFor<F extends NamedVersion>(
  detection: Detection<F>,
  declared: string | undefined,
  knows: (adapter: F) => boolean,
): readonly F[] {
  return selectVersion(detection, declared, detection.adapters.filter(knows));
}

/** The same for the adapters that know the method, route or service. */
export function selectVersion<F extends NamedVersion>(
  { adapters, strict }: Detection<F>,
  declared: string | undefined,
  knowing: readonly F[],
): readonly F[] {
  const matching = knowing.filter(({ version, isImplied }) =>
    declared === undefined ? isImplied : version === declared,
  );
  if (!strict) return declared === undefined || matching.length === 0 ? knowing : matching;
  if (matching.length === 0 && knowing.some(({ isImplied }) => !isImplied)) {
    throw notServedError(declared ?? "(none)", listVersions(adapters));
  }
  return matching;
}

/** The distinct versions of adapters. */
export function listVersions(adapters: readonly { readonly version: string }[]): readonly string[] {
  return [...new Set(adapters.map(({ version }) => version))];
}

function notServedError(requested: string, served: readonly string[]): A2AError {
  const name = requested.slice(0, 32);
  return new A2AError("versionNotSupported", `unsupported A2A version ${name} (supported: ${served.join(", ")})`, {
    metadata: { requested: name, supported: served.join(",") },
  });
}
