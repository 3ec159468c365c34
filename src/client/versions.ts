import { defaultValidationLimits } from "../protocol/validation-limits.js";
import type { Version } from "../version/codec.js";
import type { FileBytes } from "../version/options.js";
import { createVersion } from "../version/v1.0/version.js";
import { type VersionEntry, versionTable } from "../version/versions.js";

/** The versions that a client knows. */
export interface KnownVersions {
  /** Newest first. */
  readonly entries: readonly VersionEntry[];
  /** Loads a version, once per client. Throws a `TypeError` for an unknown name. */
  load(name: string): Promise<Version>;
}

// The version of nearly every agent is part of the client; older ones are loaded when an agent needs them. A client
// reads no requests and writes no replies.
const none = (): readonly never[] => [];
const v1 = createVersion(defaultValidationLimits, {
  validate: none,
  validateRead: none,
  foreignNamesIn: none,
  jsonTexts: noTexts,
  pageTexts: noTexts,
});
function* noTexts(): Generator<string> {}

const entries: readonly VersionEntry[] = versionTable.map((entry) =>
  entry.name === v1.name ? { ...entry, load: async () => v1 } : entry,
);

/** The versions for one client. */
export function knownVersions(fileBytes: FileBytes | undefined): KnownVersions {
  const cache = new Map<string, Promise<Version>>();
  return {
    entries,
    async load(name) {
      const entry = entries.find((each) => each.name === name);
      if (entry === undefined)
        throw new TypeError(`version ${name} is not one of ${entries.map((each) => each.name).join(", ")}`);
      const version = cache.get(name) ?? entry.load({ fileBytes });
      cache.set(name, version);
      try {
        return await version;
      } catch (error) {
        // In a browser code is loaded over the network, and the next attempt may succeed.
        cache.delete(name);
        throw error;
      }
    },
  };
}
