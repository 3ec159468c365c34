import { renameOptions } from "../protocol/check/former-options.js";
import { assertOptions } from "../protocol/check/rules.js";
import { isObject } from "../protocol/kinds.js";
import { isLoopback } from "../protocol/loopback.js";
import { createTaskAccess, type RunningAgent } from "./agent.js";
import { AgentRegistry, type PlannedAgent, type ServerParts } from "./agent-registry.js";
import { askForCertificates, isAuthenticated } from "./authentication.js";
import { type ComposedLocalAgent, composeLocalAgent } from "./compose-local-agent.js";
import { type AgentEnvironment, type ComposedAgent, chooseBindings, type InProcessAgent } from "./composition.js";
import { Directory, toPath } from "./directory.js";
import { createHostGuard, type HostGuard } from "./host-guard.js";
import { resolveLimits } from "./limits.js";
import type { MultiAgentServer } from "./multi-agent.js";
import { serveRule } from "./option-rules.js";
import type {
  AgentOptions,
  BaseServerOptions,
  ListenOptions,
  ServeAgentsOptions,
  ServedAgentOptions,
  ServeOptions,
} from "./options.js";
import { defaultDrainMs, type ListeningPort, listenWith, planAddress } from "./port.js";
import { openServerProcess, type ProcessOptions } from "./server-process.js";

// From options to a listening port: the one way of every server, whether it has one agent, agents with names, or a gateway.
//
//   options → process → agents, planned → registry, which composes each → port
//
// `serveAll` is that way. What differs between servers is data. A server of one agent has it at the root of a directory
// without names: its options are those of the server, it identifies callers and counts rates by itself, and the tenants
// of requests are its own. What agents with names share is opened by `multi-agent.ts`, which only they load.

/** A listening server. */
export interface Server extends InProcessAgent, ListeningPort {}

/** A server of an agent that runs in this process. */
export interface AgentServer extends Server, RunningAgent {}

/**
 * Serves several agents on one port, each below its own path. They share one store, and start and close together.
 * Rejects in the same cases as for one agent.
 *
 * @example
 * ```ts
 * const server = await serve({
 *   agents: {
 *     "/weather": { card: { name: "Weather", description: "Forecasts the weather", version: "1.0.0" }, agent: weather },
 *     "/travel": { card: { name: "Travel", description: "Plans trips", version: "1.0.0" }, agent: travel },
 *   },
 *   catalogue: true,
 * });
 * console.log(`${server.url}/weather`);
 * ```
 */
export async function serve(options: ServeAgentsOptions): Promise<MultiAgentServer>;
/**
 * Serves an agent on one port: JSON-RPC, HTTP+JSON and gRPC over HTTP/1.1, HTTP/2 and, with `tls`, TLS. Rejects with a
 * `TypeError` for wrong options, with a `CardError` for a card that contradicts itself, when the port is taken, and
 * when other machines can reach the host but none of `auth`, `authenticate` and `anonymous` is set.
 *
 * @example
 * ```ts
 * const server = await serve({
 *   card: { name: "Shouter", description: "Says it louder", version: "1.0.0" },
 *   async *agent({ text }) {
 *     yield working("shouting");
 *     yield artifact(text.toUpperCase());
 *   },
 *   port: 8080,
 * });
 * console.log(`Shouter listens at ${server.url}`);
 * ```
 */
export async function serve(options: ServeOptions): Promise<AgentServer>;
export async function serve(givenOptions: ServeOptions | ServeAgentsOptions): Promise<AgentServer | MultiAgentServer> {
  const options = renameOptions("serve()", givenOptions);
  if (!namesAgents(options)) {
    assertOptions("serve()", options, serveRule);
    const compose = (environment: AgentEnvironment): Promise<ComposedLocalAgent> =>
      composeLocalAgent(options, environment);
    const { server, agent } = await serveOne(options, { hasTasks: true, compose });
    return Object.assign(server, createTaskAccess(agent));
  }
  const [{ NamedAgents, openNamedAgents }, { multiAgentRule }] = await Promise.all([
    import("./multi-agent.js"),
    import("./multi-agent-rules.js"),
  ]);
  assertOptions("serve()", options, multiAgentRule);
  const { port, registry, agents } = await serveAll(options, {
    agentOptions: Object.values(options.agents),
    hasTasks: true,
    plan: (server) => openNamedAgents(options, server),
  });
  return Object.assign(port, { agents: new NamedAgents(registry, agents), client: agents.client });
}

function namesAgents(options: ServeOptions | ServeAgentsOptions): options is ServeAgentsOptions {
  return isObject(options) && "agents" in options && options.agents !== undefined;
}

/** The agent of a server with one agent. */
export interface OneAgent<A extends ComposedAgent> {
  /** Whether tasks run here. A gateway has none. */
  readonly hasTasks: boolean;
  compose(environment: AgentEnvironment): Promise<A>;
}

/** Serves one agent, at the root of the port. */
export async function serveOne<A extends ComposedAgent>(
  options: ServerOptions,
  { hasTasks, compose }: OneAgent<A>,
): Promise<{ readonly server: Server; readonly agent: A }> {
  const { agentId = "" } = options;
  const directory = new Directory<A>();
  const { port } = await serveAll(options, {
    hasTasks,
    plan: () => ({
      directory,
      planned: () => [
        {
          path: "",
          agentId,
          givenOptions: options,
          options,
          compose,
          hosts: [],
          grpcPort: undefined,
          route: { kind: "root" },
          realm: "",
        },
      ],
    }),
  });
  const agent = directory.get("")?.agent;
  if (agent === undefined) throw new TypeError("the server has no agent");
  const server = Object.defineProperties(port, {
    card: { get: () => agent.card.card(), enumerable: true },
    inProcess: { value: agent.inProcess, enumerable: true },
  }) as Server;
  return { server, agent };
}

/** The options that hold for a whole server. */
export type ServerOptions = ProcessOptions & ListenOptions & Pick<AgentOptions, "agentId">;

/** The agents that a server begins with, and the directory that finds them. */
export interface PlannedAgents<A extends ComposedAgent> {
  readonly directory: Directory<A>;
  /** Each is planned when the one before it is served. */
  planned(): Iterable<PlannedAgent<A>>;
  /** Closes what the agents share. */
  close?(): Promise<void>;
}

/** The agents and handlers of a server. */
interface Contents<P> {
  /** Options of single agents that concern the whole port. Default: none, those of the server say everything. */
  readonly agentOptions?: readonly ServedAgentOptions[];
  /** Whether tasks run here. */
  readonly hasTasks: boolean;
  plan(server: ServerParts): P | Promise<P>;
}

/** Composes a server and listens. Rejects once everything that was opened is closed again. */
async function serveAll<A extends ComposedAgent, P extends PlannedAgents<A>>(
  options: ServerOptions,
  { agentOptions = [], hasTasks, plan }: Contents<P & PlannedAgents<A>>,
): Promise<{ readonly port: ListeningPort; readonly registry: AgentRegistry<A>; readonly agents: P }> {
  const serverAddress = planAddress(options);
  const { host } = serverAddress;
  const process = await openServerProcess(options);
  const { clock, load, admission } = process;
  const logger = process.resolveLogger(options.logger);
  let agents: (P & PlannedAgents<A>) | undefined;
  let registry: AgentRegistry<A> | undefined;
  let port: ListeningPort | undefined;
  const end = async (drainMs: number): Promise<void> => {
    admission.close();
    await registry?.close(drainMs);
    await Promise.all([agents?.close?.(), process.close()]);
  };
  try {
    const limits = resolveLimits(options.limits, isAuthenticated(options));
    const tls = agentOptions.reduce((tls, { auth }) => askForCertificates({ tls, auth }), askForCertificates(options));
    const bindings = chooseBindings(options);
    const guard = guardPort(options, host, agentOptions);
    const server: ServerParts = {
      options,
      host,
      tls,
      guard,
      process,
      limits,
      clock,
      logger,
      drainMs: options.drainMs ?? defaultDrainMs,
      address: () => serverAddress.address(),
      listeners: () => serverAddress.listeners,
    };
    agents = await plan(server);
    const { directory } = agents;
    registry = new AgentRegistry(server, directory);
    for (const agent of agents.planned()) await registry.put(agent.path, () => agent);
    // Opens the store even if there are no agents yet.
    const tasks = hasTasks ? await process.tasks() : undefined;
    port = await listenWith(options, serverAddress, {
      directory,
      registry,
      bindings,
      limits,
      logger,
      guard,
      tls,
      load,
      end,
      unsent: admission.unsent.open,
      watchStore: (listener) => tasks?.core.health.watch(listener),
      refuse: () => admission.close(),
      idle: () => admission.activeCalls.idle(),
    });
    const { url } = port;
    const grpc = options.grpcPort === undefined ? {} : { grpcPort: port.grpcPort };
    const { entries } = directory;
    const paths = entries.map(({ path }) => toPath(path));
    const versions = entries.flatMap(({ agent }) => agent.versions.map(({ name }) => name));
    logger.info(
      directory.hasNames ? { url, ...grpc, agents: paths } : { url, ...grpc, bindings, versions },
      "listening",
    );
    if (hasTasks && options.store === undefined) {
      logger.info({}, "tasks are kept in memory and are lost with the process");
    }
    return { port, registry, agents };
  } catch (error) {
    await (port === undefined ? end(0) : port.close());
    throw error;
  }
}

/** Guards a port that only this machine reaches, while callers are not authenticated. */
function guardPort(
  options: BaseServerOptions,
  host: string,
  agentOptions: readonly ServedAgentOptions[],
): HostGuard | undefined {
  const allowedHosts = [...(options.allowedHosts ?? []), ...agentOptions.flatMap(({ hosts = [] }) => hosts)];
  const guard = createHostGuard({ ...options, allowedHosts });
  return !isAuthenticated(options) && isLoopback(host, "listen") ? guard : undefined;
}
