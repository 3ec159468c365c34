import { type Binding, bindingRow, isAuthority } from "../protocol/bindings.js";
import type { Version } from "../version/codec.js";
import { isListed } from "../version/traits.js";
import type { Location } from "./urls.js";

/** A running interface, independent of the agent's address. */
export interface Mount {
  /** The name on the wire: `JSONRPC`, `HTTP+JSON`, `GRPC`, or another binding's URI. */
  readonly binding: string;
  /** Its protocol version. */
  readonly version: string;
  /** Path below the agent's base. gRPC has none: it is reached by host and port. */
  readonly path: string;
  readonly tenant?: string | undefined;
  /** Host of a binding without paths, where it is not that of the agent. */
  readonly host?: string | undefined;
}

/** A mount with its address at one location. */
export interface MountAddress {
  readonly binding: string;
  readonly url: string;
  readonly version: string;
  readonly tenant?: string | undefined;
}

/** The mounts of these bindings in these versions: version by version, bindings in order of preference. */
export function createMounts(bindings: readonly Binding[], versions: readonly Version[]): readonly Mount[] {
  return versions.flatMap((version) => {
    const rows = bindings.map(bindingRow).filter(({ adapter }) => version[adapter] !== undefined);
    return rows.map(({ wire, path }) => ({ binding: wire, version: version.name, path }));
  });
}

/** The mounts shown to readers of this version: those for every reader, and their own. */
export function mountsFor(mounts: readonly Mount[], reader: string): readonly Mount[] {
  return mounts.filter(({ version }) => isListed(version) || version === reader);
}

/** The mounts with their addresses at one location. */
export function addressesAt(mounts: readonly Mount[], location: Location): readonly MountAddress[] {
  return mounts.map(({ binding, version, path, tenant, host }) => ({
    binding,
    version,
    tenant,
    url: isAuthority(binding) ? atHost(location.grpc, host) : `${location.base}${path}`,
  }));
}

function atHost(authority: string, host: string | undefined): string {
  return host === undefined ? authority : `${host}${/:\d+$/.exec(authority)?.[0] ?? ""}`;
}
