import type { HttpEndpoint, HttpRequest } from "../binding/http/http.js";
import { findPathBelow, mountRequest } from "../binding/http/mount.js";
import type { AddressedService, NamedTenant, Service } from "../binding/service.js";
import { A2AError } from "../protocol/errors.js";
import { trimSlashes } from "../protocol/http-routes.js";
import { nearest } from "../protocol/nearest.js";
import type { Version } from "../version/codec.js";
import { versionNames } from "../version/versions.js";
import type { ComposedAgent } from "./composition.js";
import type { BaseServerOptions } from "./options.js";

// The agents of a port, one or many: finds the agent of a call. A server of one agent has it at the root, and every
// request is for it. Agents with names are found by host, by path, or by the name that a gRPC request has in its tenant.

/** Where the list of the agents is served. */
const cataloguePath = "/.well-known/agents";
/** Longest part of an unknown name that an error repeats. */
const longestName = 64;

/** An agent of a server, and how calls reach it. */
export interface DirectoryEntry<A extends ComposedAgent = ComposedAgent> {
  /** `""` for the agent at the root, else `/weather`. */
  readonly path: string;
  readonly agent: A;
  /** Serves the requests below the path. */
  readonly endpoint: HttpEndpoint;
  /** Lower-case host names of which the agent serves every request. */
  readonly hosts: readonly string[];
  /** Whether gRPC calls reach it by its name, after the authentication that it shares with others. */
  readonly isNamed: boolean;
  readonly destination: AddressedService;
  /** Its options as they were given, without those of the server. */
  readonly options: BaseServerOptions;
  /** Agents of one realm have the same callers. */
  readonly realm: string;
}

/** The key of a path in a directory: empty for the agent at the root. */
export function toKey(path: string): string {
  return path === "/" ? "" : path;
}

/** The path of a key. */
export function toPath(key: string): string {
  return key === "" ? "/" : key;
}

/** The list of the agents of a server. */
export interface Catalogue {
  readonly endpoint: HttpEndpoint;
  /** The paths of the agents that it lists for a caller. */
  visiblePaths(request: HttpRequest): Promise<readonly string[]>;
}

/** Settings that all named agents share. */
export interface DirectoryOptions<A extends ComposedAgent> {
  /** Path prefix of everything. Default: none. */
  readonly basePath?: string | undefined;
  /** Authenticates the gRPC calls that name their agent. */
  readonly front: Service;
  /** Makes the list of the agents. Default: there is none, and no caller hears of an agent that it does not name. */
  readonly catalogue?: ((directory: Directory<A>) => Catalogue) | undefined;
  /** Serves what belongs to no agent. Default: nothing does. */
  readonly rest?: HttpEndpoint | undefined;
}

/** The agents of a server: the one place that finds the agent of a call. */
export class Directory<A extends ComposedAgent = ComposedAgent> {
  readonly #options: Partial<DirectoryOptions<A>>;
  readonly #catalogue: Catalogue | undefined;
  readonly #byPath = new Map<string, DirectoryEntry<A>>();
  readonly #byHost = new Map<string, DirectoryEntry<A>>();
  #front: AddressedService | undefined;
  /** Path prefix of the agents' paths. */
  readonly basePath: string;
  /** Whether agents have names, and may come and go. Otherwise there is one, at the root, and everything is for it. */
  readonly hasNames: boolean;
  /** How often the agents have changed. */
  revision = 0;

  constructor(options?: DirectoryOptions<A>) {
    this.#options = options ?? {};
    this.hasNames = options !== undefined;
    this.basePath = trimSlashes(options?.basePath ?? "");
    this.#catalogue = options?.catalogue?.(this);
    this.#change();
  }

  get entries(): readonly DirectoryEntry<A>[] {
    return [...this.#byPath.values()];
  }

  get(path: string): DirectoryEntry<A> | undefined {
    return this.#byPath.get(path);
  }

  /** Adds an agent, or puts it in the place of another; calls see the one or the other. */
  put(entry: DirectoryEntry<A>): void {
    this.#forgetHosts(entry.path);
    this.#byPath.set(entry.path, entry);
    for (const host of entry.hosts) this.#byHost.set(host, entry);
    this.#change();
  }

  delete(path: string): void {
    this.#forgetHosts(path);
    this.#byPath.delete(path);
    this.#change();
  }

  #forgetHosts(path: string): void {
    for (const [host, entry] of this.#byHost) if (entry.path === path) this.#byHost.delete(host);
  }

  /** Versions of all agents, newest first. */
  get versions(): readonly Version[] {
    const allVersions = this.entries.flatMap(({ destination }) => destination.versions);
    return versionNames.flatMap((name) => allVersions.find((version) => version.name === name) ?? []);
  }

  #change(): void {
    this.revision += 1;
    const { front } = this.#options;
    if (front === undefined) return;
    const { versions } = this;
    const service = { ...front, versions: versions.map(({ name }) => name) };
    this.#front = { service, versions, resolveTenant: (tenant) => this.#resolveTenant(tenant) };
  }

  /** Serves the HTTP requests of all agents. */
  readonly endpoint: HttpEndpoint = (request) => {
    if (!this.hasNames) return this.#byPath.get("")?.endpoint(request);
    const path = findPathBelow(this.basePath, request.path);
    if (path === undefined) return this.#options.rest?.(request);
    const hostEntry = this.#findByHost(request.header("host"));
    const entry = hostEntry ?? this.#byPath.get(firstSegment(path));
    const rest = entry === undefined ? undefined : findPathBelow(entry.path, path);
    if (entry !== undefined && rest !== undefined) return this.#below(entry, request, entry.path, rest);
    const list =
      path === cataloguePath || path === `${cataloguePath}/` ? this.#catalogue?.endpoint(request) : undefined;
    if (list !== undefined) return list;
    const root = hostEntry ?? this.#byPath.get("");
    return root === undefined ? this.#options.rest?.(request) : this.#below(root, request, "", path);
  };

  #findByHost(host: string | undefined): DirectoryEntry<A> | undefined {
    return this.#byHost.size === 0 ? undefined : this.#byHost.get(hostName(host));
  }

  #below({ endpoint }: DirectoryEntry<A>, request: HttpRequest, path: string, rest: string) {
    return endpoint(mountRequest(request, rest, request.mountPath + this.basePath + path));
  }

  /** Finds the service for gRPC calls to an authority. */
  readonly at = (authority: string): AddressedService => {
    const hostEntry = this.#findByHost(authority);
    const destination = hostEntry?.destination ?? this.#front ?? this.#byPath.get("")?.destination;
    if (destination === undefined) throw new TypeError("the server has no agent");
    return destination;
  };

  #resolveTenant(tenant: string): NamedTenant {
    const slash = tenant.indexOf("/");
    const name = slash === -1 ? tenant : tenant.slice(0, slash);
    const entry = this.#byPath.get(`/${name}`);
    if (entry?.isNamed === true)
      return { destination: entry.destination, name, rest: slash === -1 ? "" : tenant.slice(slash + 1) };
    const root = this.#byPath.get("");
    if (root?.isNamed === true) return { destination: root.destination, name: "", rest: tenant };
    // As an unknown path over HTTP: gRPC takes its 404 for UNIMPLEMENTED, and its NOT_FOUND is a task that does not
    // exist.
    const path = `/${name.slice(0, longestName)}`;
    // The list shows them to everyone whom their shared authentication lets in, and so to this caller.
    const named = this.#catalogue === undefined ? [] : this.entries.filter(({ isNamed }) => isNamed);
    const advice = adviceFor(
      path,
      named.map((each) => each.path),
    );
    const text = `no agent at ${path}: the tenant of a request begins with the agent's name`;
    throw new A2AError("methodNotFound", `${text}${advice}`);
  }

  /** Says which agent an HTTP request looked for, if there is none, and which one of the list was probably meant. */
  readonly explainMissing = async (request: HttpRequest): Promise<string | undefined> => {
    const rest = this.hasNames ? findPathBelow(this.basePath, request.path) : undefined;
    if (rest === undefined || this.#findByHost(request.header("host")) !== undefined) return undefined;
    const segment = rest.startsWith("/.well-known/") ? "" : firstSegment(rest);
    if (this.#byPath.has(segment)) return undefined;
    const path = segment.slice(0, longestName);
    const advice = adviceFor(path, (await this.#catalogue?.visiblePaths(request)) ?? []);
    if (advice === "" && this.#byPath.has("")) return undefined;
    return `no agent at ${path || "/"}${advice}`;
  };
}

/** Names the path that was probably meant, among those that the caller may see. */
function adviceFor(path: string, paths: readonly string[]): string {
  const near =
    path.length < 2
      ? undefined
      : nearest(
          path,
          paths.filter((each) => each !== ""),
        );
  return near === undefined ? "" : `: did you mean ${near}?`;
}

/** `/weather` of `/weather/json-rpc`. */
function firstSegment(path: string): string {
  const end = path.indexOf("/", 1);
  return end === -1 ? path : path.slice(0, end);
}

/** The name in a `Host` header or an authority, without its port. */
function hostName(host = ""): string {
  return host.replace(/:\d+$/, "").toLowerCase();
}
