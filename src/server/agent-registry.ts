import type { TlsOptions } from "node:tls";
import type { Clock } from "../protocol/async/clock.js";
import { noop } from "../protocol/async/noop.js";
import { within } from "../protocol/async/pause.js";
import { bindingRow } from "../protocol/bindings.js";
import type { Logger } from "../protocol/logger.js";
import { isLoopback } from "../protocol/loopback.js";
import { assertCallersKnown, isAuthenticated } from "./authentication.js";
import type { AgentEnvironment, ComposedAgent } from "./composition.js";
import { type Directory, type DirectoryEntry, toPath } from "./directory.js";
import { type GrpcRoute, selectReachable } from "./grpc-route.js";
import { createHostGuard, guardEndpoint, type HostGuard } from "./host-guard.js";
import type { Limits } from "./limits.js";
import { type GrpcPort, type Listeners, openGrpcPort } from "./listeners.js";
import { resolveLogger } from "./log/stderr-logger.js";
import type { BaseServerOptions, ListenOptions } from "./options.js";
import type { ServerProcess } from "./server-process.js";

// The agents of a server while it runs: composes, adds, replaces and removes them.
//
// A planned agent is composed beside the one whose path it takes, and swapped into the directory in one step once it is
// complete. Changes of one path wait for each other. The one that it replaces is released when its calls have ended; one
// that leaves drains first, and an agent with the same `agentId` waits for that. A server of one agent has a registry
// with one entry, at the root, which only `close` ends.

/** Parts that a server has once, whatever its agents. */
export interface ServerParts {
  readonly options: BaseServerOptions & ListenOptions;
  readonly host: string;
  /** With the authorities of every scheme that reads certificates. */
  readonly tls: TlsOptions | undefined;
  /** Guards a port that only this machine reaches, while callers are not authenticated. */
  readonly guard: HostGuard | undefined;
  readonly process: ServerProcess;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly drainMs: number;
  /** The server's address, once it listens. */
  readonly address: () => { readonly origin: string; readonly grpcPort: number | undefined };
  /** `undefined` until the server listens. */
  readonly listeners: () => Listeners | undefined;
}

/** An agent that is to be served. */
export interface PlannedAgent<A extends ComposedAgent = ComposedAgent> {
  /** `""` for the root, else `/weather`. */
  readonly path: string;
  /** Its name in errors. Default: the host name of the server, whose only agent it is. */
  readonly title?: string;
  readonly agentId: string;
  /** Its options as they were given. */
  readonly givenOptions: BaseServerOptions;
  /** Its options with those of the server that hold for it. */
  readonly options: BaseServerOptions;
  /** Lower-case host names that are its alone. */
  readonly hosts: readonly string[];
  /** The port of its own for gRPC. */
  readonly grpcPort: number | undefined;
  readonly route: GrpcRoute;
  /** Agents of one realm have the same callers. */
  readonly realm: string;
  /** Composes it for its place. `replaced`: the agent with the same `agentId` that it is to replace. */
  compose(environment: AgentEnvironment, replaced: A | undefined): Promise<A>;
}

/** How long a port that is closed may still write. */
const lastWordsMs = 2000;

/** Keeps the agents of a server, one change of a path after another. */
export class AgentRegistry<A extends ComposedAgent> {
  readonly #server: ServerParts;
  readonly #directory: Directory<A>;
  readonly #ports = new Map<string, GrpcPort>();
  /** The last change of each path, which the next one waits for. */
  readonly #changes = new Map<string, Promise<unknown>>();
  /** Agents that drain, by their ids in the store. */
  readonly #departures = new Map<string, Promise<void>>();
  /** Agents that were replaced and still have calls. */
  readonly #releases = new Set<Promise<void>>();
  #isClosed = false;

  constructor(server: ServerParts, directory: Directory<A>) {
    this.#server = server;
    this.#directory = directory;
  }

  /** Serves an agent at its path, instead of the one that is there. Rejects for a wrong plan, and then changes nothing. */
  put(path: string, plan: () => PlannedAgent<A>): Promise<void> {
    return this.#change(path, async () => {
      const { logger, listeners } = this.#server;
      const before = this.#directory.get(path);
      const portBefore = this.#ports.get(path);
      const { entry, port } = await this.#compose(plan(), before, portBefore);
      listeners()?.engine?.register(entry.destination.versions);
      port?.serve(entry.destination);
      this.#directory.put(entry);
      if (port === undefined) this.#ports.delete(path);
      else this.#ports.set(path, port);
      if (portBefore !== undefined && portBefore !== port) void closePort(portBefore);
      if (before !== undefined) this.#replace(before, entry);
      if (listeners() !== undefined) {
        logger.info({ agent: toPath(path) }, before === undefined ? "an agent is added" : "an agent is replaced");
      }
    });
  }

  /** Ends the agent at a path. Resolves with false when there is none. */
  remove(path: string, drainMs = this.#server.drainMs): Promise<boolean> {
    return this.#change(path, async () => {
      const entry = this.#directory.get(path);
      if (entry === undefined) return false;
      this.#directory.delete(path);
      this.#server.logger.info({ agent: toPath(path) }, "an agent is removed");
      await this.#leave(entry, drainMs);
      return true;
    });
  }

  #change<T>(path: string, make: () => Promise<T>): Promise<T> {
    const before = this.#changes.get(path) ?? Promise.resolve();
    const change = before.then(() => {
      if (this.#isClosed) throw new TypeError("the server is closed: it takes no more agents");
      return make();
    });
    const completion = change.then(noop, noop).finally(() => {
      if (this.#changes.get(path) === completion) this.#changes.delete(path);
    });
    this.#changes.set(path, completion);
    return change;
  }

  /** Composes an agent for its place. Rejects for options that contradict each other or another agent. */
  async #compose(
    plan: PlannedAgent<A>,
    before: DirectoryEntry<A> | undefined,
    portBefore: GrpcPort | undefined,
  ): Promise<{ readonly entry: DirectoryEntry<A>; readonly port: GrpcPort | undefined }> {
    const { path, title, agentId, givenOptions, options, hosts, grpcPort, route, realm } = plan;
    const { host, process, address } = this.#server;
    this.#assertFree(plan);
    assertCallersKnown(options, host, title && `${title} on host ${host}`);
    this.#assertCertificates(givenOptions);
    const guard = this.#createGuard(plan);
    await this.#departures.get(agentId);
    let port = portBefore?.requestedPort === grpcPort ? portBefore : undefined;
    const environment: AgentEnvironment = {
      process,
      realm,
      reachable: (mounts) => selectReachable(mounts, route, resolveLogger(options.logger)),
      listening: () => {
        const { origin, grpcPort: sharedPort } = address();
        const mountPath = this.#directory.basePath + path;
        return { origin, mountPath, grpcPort: port?.port ?? grpcPort ?? sharedPort };
      },
    };
    const agent = await plan.compose(environment, before?.agent.agentId === agentId ? before.agent : undefined);
    const hasGrpc = agent.bindings.some((name) => bindingRow(name).address === "authority");
    const destination = { service: agent.service, versions: hasGrpc ? agent.versions : [] };
    try {
      if (grpcPort !== undefined) {
        const { reflection } = this.#server.options;
        const { open: unsent } = process.admission.unsent;
        port ??= await openGrpcPort(grpcPort, destination, { ...this.#server, unsent, reflection });
      }
    } catch (error) {
      await agent.dismiss();
      throw error;
    }
    // An agent with hosts or a port has no name for gRPC, as one with an authentication of its own.
    const isNamed = hasGrpc && (route.kind === "name" || route.kind === "root");
    const endpoint = guard === undefined ? agent.endpoint : guardEndpoint(agent, guard, { basePath: options.basePath });
    return { entry: { path, agent, endpoint, hosts, isNamed, destination, options: givenOptions, realm }, port };
  }

  /** The guard of an agent that only this machine reaches and that authenticates nobody. Throws for impossible hosts. */
  #createGuard({ options, hosts }: PlannedAgent<A>): HostGuard | undefined {
    const { host, options: server } = this.#server;
    if (isAuthenticated(options) || !isLoopback(host, "listen")) return undefined;
    return createHostGuard({ ...options, allowedHosts: [...(server.allowedHosts ?? []), ...hosts] });
  }

  /** Throws when another agent has the id or a host. */
  #assertFree({ path, agentId, hosts }: PlannedAgent<A>): void {
    for (const other of this.#directory.entries) {
      if (other.path === path) continue;
      const at = `the agent at ${toPath(path)}`;
      const taken = `which the agent at ${toPath(other.path)} has: give each agent its own`;
      if (other.agent.agentId === agentId) {
        throw new TypeError(`${at} has the agentId ${JSON.stringify(agentId)}, ${taken}`);
      }
      const host = hosts.find((each) => other.hosts.includes(each));
      if (host !== undefined) throw new TypeError(`${at} has the host ${host}, ${taken}`);
    }
  }

  /** Throws when a scheme reads certificates that the server does not ask for. */
  #assertCertificates({ auth }: BaseServerOptions): void {
    const { tls, listeners } = this.#server;
    if (tls === undefined || listeners() === undefined) return;
    const authorities = tls.ca === undefined ? [] : [tls.ca].flat().map(String);
    for (const [name, { needsCertificate, clientAuthorities = [] }] of Object.entries(auth?.schemes ?? {})) {
      if (needsCertificate !== true) continue;
      if (tls.requestCert === true && clientAuthorities.every((each) => authorities.includes(each))) continue;
      throw new TypeError(
        `the scheme ${name} needs client certificates, which the server does not request: start it with \`tls.requestCert\` and the authorities of the scheme in \`tls.ca\``,
      );
    }
  }

  #replace(before: DirectoryEntry<A>, { agent }: DirectoryEntry<A>): void {
    const { drainMs, logger } = this.#server;
    const end = before.agent.agentId === agent.agentId ? before.agent.release() : this.#leave(before, drainMs);
    const release = end
      .catch((error: unknown) => logger.error({ err: error }, "an agent that was replaced could not be closed"))
      .finally(() => this.#releases.delete(release));
    this.#releases.add(release);
  }

  /** Ends an agent that no call finds any more. */
  #leave({ path, agent }: DirectoryEntry<A>, drainMs: number): Promise<void> {
    const isRemoved = this.#directory.get(path) === undefined;
    const port = isRemoved ? this.#ports.get(path) : undefined;
    if (isRemoved) this.#ports.delete(path);
    void port?.retire(0);
    const leave = async (): Promise<void> => {
      agent.admission.close();
      await agent.handler.drain(drainMs);
      await agent.dispose();
      await port?.drain(lastWordsMs);
    };
    const departure = leave().finally(() => this.#departures.delete(agent.agentId));
    this.#departures.set(agent.agentId, departure);
    return departure;
  }

  /** Ends all agents, and the changes under way. */
  async close(drainMs: number): Promise<void> {
    this.#isClosed = true;
    const { clock, limits } = this.#server;
    const agents = this.#directory.entries.map(({ agent }) => agent);
    for (const { admission } of agents) admission.close();
    void this.retire(0);
    for (const { handler } of agents) handler.stopNewWork();
    await within(clock, drainMs, untilAllIdle(agents));
    await Promise.all(agents.map(({ handler }) => handler.drain(0)));
    await Promise.all(agents.map((agent) => agent.dispose()));
    await within(clock, limits.graceMs, Promise.all([...this.#releases, ...this.#departures.values()]).then(noop));
    await Promise.all([...this.#ports.values()].map((port) => port.drain(lastWordsMs)));
  }

  /** Ends the connections of the agents' own ports after their last responses. */
  async retire(ms: number): Promise<void> {
    await Promise.all([...this.#ports.values()].map((port) => port.retire(ms)));
  }

  setServing(serving: boolean): void {
    for (const port of this.#ports.values()) port.setServing(serving);
  }
}

/** Resolves when no agent runs a turn: the turn of one may start that of another. */
async function untilAllIdle(agents: readonly ComposedAgent[]): Promise<void> {
  const handlers = agents.map(({ handler }) => handler);
  while (handlers.some((handler) => !handler.isIdle)) await Promise.all(handlers.map((handler) => handler.idle()));
}

async function closePort(port: GrpcPort): Promise<void> {
  void port.retire(0);
  await port.drain(lastWordsMs);
}
