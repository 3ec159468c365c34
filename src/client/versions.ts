import type { Version } from "../version/codec.js";
import type { FileBytes } from "../version/options.js";
import { v1 } from "../version/v1.0/v1.js";
import { type VersionEntry, versionTable } from "../version/versions.js";

/** The versions that a client knows. */
export interface KnownVersions {
  /** The newest first. */
  readonly entries: readonly VersionEntry[];
  /** Loads one, once for each client. Throws a `TypeError` for a name that is none of them. */
  load(name: string): Promise<Version>;
}

// What nearly every agent speaks comes with the client, what is older when an agent speaks it.
const entries: readonly VersionEntry[] = versionTable.map((entry) =>
  entry.name === v1.name ? { ...entry, load: async () => v1 } : entry,
);

/** The versions for one client. */
export function knownVersions(fileBytes: FileBytes | undefined): KnownVersions {
  const loaded = new Map<string, Promise<Version>>();
  return {
    entries,
    async load(name) {
      const entry = entries.find((each) => each.name === name);
      if (entry === undefined) throw new TypeError(`version ${name} is none of the client's`);
      const version = loaded.get(name) ?? entry.load({ fileBytes });
      loaded.set(name, version);
      try {
        return await version;
      } catch (error) {
        // In a browser code comes over the network, and may come the next time.
        loaded.delete(name);
        throw error;
      }
    },
  };
}
