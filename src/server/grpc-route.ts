import type { Mount } from "../card/mounts.js";
import { isAuthority } from "../protocol/bindings.js";
import type { Logger } from "../protocol/logger.js";
import { knowsTenants } from "../version/traits.js";

/**
 * How gRPC calls, which have no path, are routed to an agent: at an address of its own, at a host of its own, or by its
 * name in the tenant of their requests.
 */
export type GrpcRoute =
  | { readonly kind: "address" | "root" }
  | { readonly kind: "host"; readonly host: string }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "none" };

export interface GrpcRouteOptions {
  readonly path: string;
  /** Whether the agent has an authentication of its own. */
  readonly hasOwnAuth: boolean;
  readonly hosts: readonly string[];
  readonly grpcPort: number | undefined;
  /** Its own address of gRPC from outside. */
  readonly publicGrpc: string | undefined;
}

/** Chooses the route to one of several agents. */
export function chooseGrpcRoute({ path, hasOwnAuth, hosts, grpcPort, publicGrpc }: GrpcRouteOptions): GrpcRoute {
  const [host] = hosts;
  if (grpcPort !== undefined || (host !== undefined && publicGrpc !== undefined)) return { kind: "address" };
  if (host !== undefined) return { kind: "host", host };
  if (hasOwnAuth) return { kind: "none" };
  return path === "" ? { kind: "root" } : { kind: "name", name: path.slice(1) };
}

/** Returns the interfaces that calls can reach, and logs which ones the card does not list. */
export function selectReachable(mounts: readonly Mount[], route: GrpcRoute, logger: Logger): readonly Mount[] {
  const { kind } = route;
  if (kind === "address" || kind === "root") return mounts;
  const candidates = mounts.map((mount) => (isAuthority(mount.binding) ? placeMount(route, mount) : mount));
  const versions = mounts.filter((_, index) => candidates[index] === undefined).map(({ version }) => version);
  if (versions.length > 0) {
    const why = kind === "none" ? "the agent identifies callers by itself" : "its requests cannot name the agent";
    const text = `an interface is not in the card, since ${why}: \`hosts\` or \`grpcPort\` lets calls reach it`;
    logger.info({ binding: "GRPC", versions }, text);
  }
  return candidates.filter((mount) => mount !== undefined);
}

function placeMount(route: GrpcRoute, mount: Mount): Mount | undefined {
  if (route.kind === "host") return { ...mount, host: route.host };
  const { binding: protocolBinding, version: protocolVersion } = mount;
  const canName = route.kind === "name" && knowsTenants({ protocolBinding, protocolVersion, url: "" });
  return canName ? { ...mount, tenant: route.name } : undefined;
}
