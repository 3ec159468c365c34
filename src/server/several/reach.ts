import type { Mount } from "../../card/mounts.js";
import { isAuthority } from "../../protocol/bindings.js";
import type { Logger } from "../../protocol/logger.js";
import { knowsTenants } from "../../version/traits.js";

/**
 * How calls without a path, those of gRPC, reach an agent: at an address of its own, at a host of its own, or by its name
 * in the tenant of their requests.
 */
export type Reach =
  | { readonly kind: "address" | "root" }
  | { readonly kind: "host"; readonly host: string }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "none" };

export interface ReachOptions {
  readonly path: string;
  /** Whether the agent has an authentication of its own. */
  readonly hasOwnAuth: boolean;
  readonly hosts: readonly string[];
  readonly grpcPort: number | undefined;
  /** Its own address of gRPC from outside. */
  readonly publicGrpc: string | undefined;
}

/** How an agent among several is reached over gRPC. */
export function reachOf({ path, hasOwnAuth, hosts, grpcPort, publicGrpc }: ReachOptions): Reach {
  const [host] = hosts;
  if (grpcPort !== undefined || (host !== undefined && publicGrpc !== undefined)) return { kind: "address" };
  if (host !== undefined) return { kind: "host", host };
  if (hasOwnAuth) return { kind: "none" };
  return path === "" ? { kind: "root" } : { kind: "name", name: path.slice(1) };
}

/** The interfaces that calls can reach; the log says which ones the card does not list. */
export function reachableMounts(mounts: readonly Mount[], reach: Reach, logger: Logger): readonly Mount[] {
  const { kind } = reach;
  if (kind === "address" || kind === "root") return mounts;
  const candidates = mounts.map((mount) => (isAuthority(mount.binding) ? placeMount(reach, mount) : mount));
  const versions = mounts.filter((_, index) => candidates[index] === undefined).map(({ version }) => version);
  if (versions.length > 0) {
    const why = kind === "none" ? "the agent identifies callers by itself" : "its requests cannot name the agent";
    const text = `an interface is not in the card, since ${why}: \`hosts\` or \`grpcPort\` lets calls reach it`;
    logger.info({ binding: "GRPC", versions }, text);
  }
  return candidates.filter((mount) => mount !== undefined);
}

function placeMount(reach: Reach, mount: Mount): Mount | undefined {
  if (reach.kind === "host") return { ...mount, host: reach.host };
  const { binding: protocolBinding, version: protocolVersion } = mount;
  const canName = reach.kind === "name" && knowsTenants({ protocolBinding, protocolVersion, url: "" });
  return canName ? { ...mount, tenant: reach.name } : undefined;
}
