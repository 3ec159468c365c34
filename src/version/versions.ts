import type { AdapterKind, Binding } from "../protocol/bindings.js";
import type { Version } from "./codec.js";
import type { VersionOptions } from "./options.js";

// Versions of the protocol. Each is a room that translates between its own objects and the model, which is that of 1.0.
// The code of a version is loaded when a caller speaks it. A new version is a folder and a row here.

/** A version of the protocol, `Major.Minor`. */
export type VersionName = "1.0" | "0.3" | "0.2" | "0.1";

/** One row of the table of versions. The code of a version is loaded on first use. */
export interface VersionEntry {
  readonly name: VersionName;
  /** The adapters of this version; bindings that share an adapter come with it. */
  readonly adapters: readonly AdapterKind[];
  /**
   * Bindings that a client calls in the form of another version, since agents of this version may offer them in that
   * form.
   */
  readonly calledIn?: { readonly [B in Binding]?: VersionName } | undefined;
  load(options?: VersionOptions): Promise<Version>;
}

const allAdapters: VersionEntry["adapters"] = ["jsonRpc", "httpJson", "grpc"];

/** Every supported protocol version, newest first. */
export const versionTable: readonly VersionEntry[] = [
  {
    name: "1.0",
    adapters: allAdapters,
    load: async (options = {}) => (await import("./v1.0/v1.js")).createV1(options),
  },
  {
    name: "0.3",
    adapters: allAdapters,
    load: async (options = {}) => (await import("./v0.3/v03.js")).createV03(options),
  },
  {
    name: "0.2",
    adapters: ["jsonRpc"],
    calledIn: { GRPC: "0.3" },
    load: async (options = {}) => (await import("./v0.2/v02.js")).createV02(options),
  },
  {
    name: "0.1",
    adapters: ["jsonRpc"],
    load: async (options = {}) => (await import("./v0.1/v01.js")).createV01(options),
  },
];

/** The names of every supported protocol version, newest first. */
export const versionNames: readonly VersionName[] = versionTable.map(({ name }) => name);

/** Returns the rows of the named versions, newest first. Throws a `TypeError` for an unknown name. */
export function versionEntries(names: readonly string[] | undefined): readonly VersionEntry[] {
  if (names === undefined) return versionTable;
  const entries = versionTable.filter(({ name }) => names.includes(name));
  const unknownName = names.find((name) => entries.every((entry) => entry.name !== name));
  if (unknownName !== undefined) {
    throw new TypeError(`versions: ${JSON.stringify(unknownName)} is not one of ${versionNames.join(", ")}`);
  }
  if (entries.length === 0) throw new TypeError("versions: name at least one, or leave it out");
  return entries;
}
