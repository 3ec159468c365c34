import { A2AError } from "../protocol/errors.js";
import { parseVersion } from "../protocol/service-parameters.js";

/**
 * Reads the version that a caller declares, by header, metadata or query, and checks that it is one of `served`.
 * `undefined`: the caller names none, and the method, route or service decides. Throws `versionNotSupported`
 * (spec 3.6.2); in strict mode for a missing value as well.
 */
export function declaredVersion(
  value: string | undefined,
  served: readonly string[],
  strict: boolean,
): string | undefined {
  if (value === undefined || value.trim() === "") {
    if (strict) throw notServed("(none)", served);
    return undefined;
  }
  const version = parseVersion(value);
  if (version === undefined || !served.includes(version)) throw notServed(value, served);
  return version;
}

/** The face that takes a call: of the declared version, or of whichever version knows the method, route or service. */
export function pickFace<F extends { readonly version: string }>(
  faces: readonly F[],
  declared: string | undefined,
  knows: (face: F) => boolean,
): F | undefined {
  return faces.find((face) => (declared === undefined || face.version === declared) && knows(face));
}

function notServed(requested: string, served: readonly string[]): A2AError {
  const shown = requested.slice(0, 32);
  return new A2AError("versionNotSupported", `A2A version ${shown} is not served here`, {
    metadata: { requested: shown, supported: served.join(",") },
  });
}
