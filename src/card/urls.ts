import { grpcAddress, type Rule, url } from "../protocol/check/rules.js";
import { trimSlashes } from "../protocol/http-routes.js";
import {
  type Caller,
  createForwardedReader,
  type ForwardedOrigin,
  forwardedHeaders,
  type TrustProxy,
  trustProblems,
} from "./proxy.js";

/** The addresses of an agent from outside. */
export interface UrlOptions {
  /** Base URL of the agent as callers see it, with its path. Default: derived from the request. */
  readonly publicUrl?: string | undefined;
  /**
   * `host:port` of gRPC from outside, or its URL (`https://host:port`), shown unchanged in the card. Default: the host
   * of the public URL, with its port or gRPC's own.
   */
  readonly publicGrpc?: string | undefined;
  /** Proxies whose `X-Forwarded-Proto`, `-Host`, `-Prefix` and `Forwarded` headers are trusted. Default: false. */
  readonly trustProxy?: TrustProxy | undefined;
  /** Path at which the agent is mounted: `""` or `/agent`. Not added to `publicUrl`. Default: `""`. */
  readonly basePath?: string | undefined;
}

/** Where this process listens. */
export interface ListeningAddress {
  /** `http://127.0.0.1:8080`: for requests that name no host. */
  readonly origin: string;
  /** Port of gRPC if it has its own. */
  readonly grpcPort?: number | undefined;
  /** Where the program's server mounts the agent, for callers without a request. Default: `""`. */
  readonly mountPath?: string | undefined;
}

/** Addresses that a caller can use. */
export interface Location {
  /** Prefix of the paths of HTTP bindings, without a trailing slash. */
  readonly base: string;
  /** `host:port`, or the URL given instead. */
  readonly grpc: string;
}

export interface Locations {
  /** The location for a caller; `undefined` if the caller or a proxy names an invalid host. */
  locationFor(caller: Caller): Location | undefined;
  /** The location without a request. */
  ownLocation(): Location;
  /** Request headers that `locationFor` depends on, besides `Host`, which every cache respects. */
  readonly varyBy: readonly string[];
}

/** Creates the locations for valid options. */
export function createLocations(options: UrlOptions, listening: () => ListeningAddress): Locations {
  const { publicUrl, publicGrpc, trustProxy = false, basePath = "" } = options;
  const location = (origin: URL, path: string): Location => ({
    base: `${origin.origin}${path}`,
    grpc: publicGrpc ?? grpcAt(origin, listening().grpcPort),
  });
  if (publicUrl !== undefined) {
    const origin = new URL(publicUrl);
    const ownLocation = () => location(origin, trimSlashes(origin.pathname));
    return { locationFor: ownLocation, ownLocation, varyBy: [] };
  }
  const readForwarded = createForwardedReader(trustProxy);
  const ownLocation = () => location(new URL(listening().origin), (listening().mountPath ?? "") + basePath);
  const locationFor = (caller: Caller): Location | undefined => {
    const forwardedOrigin = readForwarded(caller);
    const origin = findOrigin(caller, forwardedOrigin, listening);
    const prefix = (forwardedOrigin?.prefix ?? "").replace(/\/$/, "") + (caller.mountPath ?? "");
    return origin === undefined || !prefixForm.test(prefix) ? undefined : location(origin, prefix + basePath);
  };
  return { locationFor, ownLocation, varyBy: trustProxy === false ? [] : forwardedHeaders };
}

const pathForm = /^(?:\/[\w.~!$&'()*+,;=:@%-]+)*$/;
// A prefix may come from any client through a proxy that only appends: no dot segments, no double slash.
const prefixForm = /^(?!.*\/\.{1,2}(?:\/|$))(?=.{0,256}$)(?:\/[\w.~!$&'()*+,;=:@%-]+)*\/?$/;

/** A mount path: empty, or `/agent`. */
export const basePathRule: Rule = (value, path) =>
  typeof value === "string" && pathForm.test(value)
    ? []
    : [`${path} must be empty or of the form "/agent", not ${typeof value === "string" ? `"${value}"` : typeof value}`];

/** Problems of `UrlOptions`. */
export function urlProblems({
  publicUrl,
  publicGrpc,
  trustProxy = false,
  basePath = "",
}: UrlOptions): readonly string[] {
  const problems: string[] = [...trustProblems(trustProxy)];
  if (publicUrl !== undefined) {
    problems.push(...url("https", "http")(publicUrl, "publicUrl"));
    if (/[?#]/.test(publicUrl)) problems.push("publicUrl must end with its path, without a query or a fragment");
  }
  if (publicGrpc !== undefined) problems.push(...grpcAddress(publicGrpc, "publicGrpc"));
  return [...problems, ...basePathRule(basePath, "basePath")];
}

function findOrigin(
  caller: Caller,
  forwardedOrigin: ForwardedOrigin | undefined,
  listening: () => ListeningAddress,
): URL | undefined {
  const scheme = forwardedOrigin?.proto ?? (caller.secure ? "https" : "http");
  const host = forwardedOrigin?.host ?? caller.header("host") ?? "";
  // HTTP/1.0 may omit the host, and HTTP/1.1 may send an empty one.
  if (host === "") return new URL(listening().origin);
  return schemes.has(scheme) && hostForm.test(host) ? (URL.parse(`${scheme}://${host}`) ?? undefined) : undefined;
}

const schemes: ReadonlySet<string> = new Set(["http", "https"]);
/** The valid form of a `Host` header. */
export const hostForm = /^(?:[\w-]+(?:\.[\w-]+)*\.?|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

function grpcAt({ protocol, hostname, port }: URL, ownPort: number | undefined): string {
  return `${hostname}:${ownPort ?? (port || (protocol === "https:" ? 443 : 80))}`;
}
