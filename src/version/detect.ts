import { A2AError } from "../protocol/errors.js";
import { parseVersion } from "../protocol/service-parameters.js";

// Which version a call speaks: the one that it declares, else the one that knows its method, route or service.

/** What the server has, and how it treats callers whose declaration and call contradict each other. */
export interface Detection<F> {
  /** Newest first. */
  readonly adapters: readonly F[];
  /** Holds callers to what they declare, and those who declare nothing to the versions in which that is allowed. */
  readonly strict: boolean;
}

interface Named {
  readonly version: string;
  readonly isImplied: boolean;
}

/**
 * Reads the version that a caller declares, by header, metadata or query, and checks that it is one of `served`.
 * `undefined`: the caller names none, and the method, route or service decides. Throws `versionNotSupported`
 * (spec 3.6.2).
 */
export function declaredVersion(value: string | undefined, served: readonly string[]): string | undefined {
  // A header that came twice is joined: the first counts.
  const [first = ""] = value?.split(",", 1) ?? [];
  if (first.trim() === "") return undefined;
  const version = parseVersion(first);
  if (version !== undefined && served.includes(version)) return version;
  // What has no form of its own here is a part of the version that followed it.
  const next = version === "0.2" ? "0.3" : undefined;
  if (next !== undefined && served.includes(next)) return next;
  throw notServed(first, served);
}

/**
 * The adapters that may take a call, the best first: of the declared version, else those that know the method, route or
 * service. In strict mode an adapter does not take the call when the caller declares another version, or must declare it and
 * does not. Throws `versionNotSupported` when only that stands against it.
 */
export function adaptersFor<F extends Named>(
  { adapters, strict }: Detection<F>,
  declared: string | undefined,
  knows: (adapter: F) => boolean,
): readonly F[] {
  const able = adapters.filter(knows);
  const meant = able.filter(({ version, isImplied }) => (declared === undefined ? isImplied : version === declared));
  if (!strict) return declared === undefined || meant.length === 0 ? able : meant;
  if (meant.length === 0 && able.some(({ isImplied }) => !isImplied)) {
    throw notServed(declared ?? "(none)", versionsOf(adapters));
  }
  return meant;
}

/** The versions of adapters, each once. */
export function versionsOf(adapters: readonly { readonly version: string }[]): readonly string[] {
  return [...new Set(adapters.map(({ version }) => version))];
}

function notServed(requested: string, served: readonly string[]): A2AError {
  const shown = requested.slice(0, 32);
  return new A2AError("versionNotSupported", `A2A version ${shown} is not served here`, {
    metadata: { requested: shown, supported: served.join(",") },
  });
}
