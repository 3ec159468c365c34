import { type Binding, bindingRow, isAuthority } from "../protocol/bindings.js";
import type { Version } from "../version/codec.js";
import { isListed } from "../version/traits.js";
import type { Location } from "./urls.js";

/** An interface that really runs, wherever the agent is reached. */
export interface Mount {
  /** The wire's word: `JSONRPC`, `HTTP+JSON`, `GRPC`, or the URI of another binding. */
  readonly binding: string;
  /** Version of the protocol that it speaks. */
  readonly version: string;
  /** Path below the base of the agent. gRPC has none: it is reached at a host and a port. */
  readonly path: string;
  readonly tenant?: string | undefined;
}

/** A mount as it is reached from one place. */
export interface Mounted {
  readonly binding: string;
  readonly url: string;
  readonly version: string;
  readonly tenant?: string | undefined;
}

/** The mounts of these bindings in these versions: every binding, in order of preference, for one version after the other. */
export function mountsOf(bindings: readonly Binding[], versions: readonly Version[]): readonly Mount[] {
  return versions.flatMap((version) => {
    const rows = bindings.map(bindingRow).filter(({ adapter }) => version[adapter] !== undefined);
    return rows.map(({ wire, path }) => ({ binding: wire, version: version.name, path }));
  });
}

/** The mounts that readers of this version are shown: those that every reader is, and their own. */
export function mountsFor(mounts: readonly Mount[], reader: string): readonly Mount[] {
  return mounts.filter(({ version }) => isListed(version) || version === reader);
}

/** The mounts with the addresses that hold at one place. */
export function mountedAt(mounts: readonly Mount[], location: Location): readonly Mounted[] {
  return mounts.map(({ binding, version, path, tenant }) => ({
    binding,
    version,
    tenant,
    url: isAuthority(binding) ? location.grpc : `${location.base}${path}`,
  }));
}
