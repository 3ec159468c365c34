import type { ListeningAddress } from "../card/urls.js";
import { renameOptions } from "../protocol/check/former-options.js";
import { assertOptions } from "../protocol/check/rules.js";
import { type HostedAgent, hostAccess } from "./agent.js";
import { assertGuarded, isAuthenticated, isLoopback, tlsWithAuth } from "./caller-guard.js";
import { composeAgent } from "./compose-agent.js";
import type { ComposedAgent, HostPlace, InProcessAgent } from "./host.js";
import { createHostGuard, guardEndpoint } from "./host-guard.js";
import { closeOnFailure, type HostProcess, openHostProcess } from "./host-process.js";
import { serveRule } from "./option-rules.js";
import type { HostOptions, ListenOptions, ServeOptions } from "./options.js";
import { Directory, type DirectoryEntry } from "./several/directory.js";
import { severalRule } from "./several/option-rules.js";
import type { ServeAgentsOptions } from "./several/options.js";
import { bindAddress, defaultHost, type ListeningPort, listenWith } from "./several/port.js";
import { type AgentsServer, serveAgents } from "./several/serve-agents.js";

// The server composes an agent, its bindings and its limits, and listens.

/** A listening server. */
export interface Server extends InProcessAgent, ListeningPort {}

/** A server of an agent that runs in this process. */
export interface AgentServer extends Server, HostedAgent {}

const inMemory = "tasks are kept in memory and are lost with the process";

/** Serves several agents on one port, each below its path, with one store and one lifecycle. Rejects as for one agent. */
export async function serve(options: ServeAgentsOptions): Promise<AgentsServer>;
/**
 * Serves an agent on one port: JSON-RPC, HTTP+JSON and gRPC over HTTP/1.1, HTTP/2 and, with `tls`, TLS. Rejects when the
 * card contradicts itself, the port is taken, or the host is reachable from other machines without `auth`, `authenticate` or `anonymous`.
 */
export async function serve(options: ServeOptions): Promise<AgentServer>;
export async function serve(givenOptions: ServeOptions | ServeAgentsOptions): Promise<AgentServer | AgentsServer> {
  const options = renameOptions("serve()", givenOptions);
  if (namesAgents(options)) {
    assertOptions("serve()", options, severalRule);
    return serveAgents(options);
  }
  assertOptions("serve()", options, serveRule);
  const process = await openHostProcess(options);
  const { server, agent } = await listenAlone(options, process, (listening) =>
    composeAgent(options, { process, listening }),
  );
  if (options.store === undefined) agent.logger.info({}, inMemory);
  return Object.assign(server, hostAccess(agent));
}

function namesAgents(options: ServeOptions | ServeAgentsOptions): options is ServeAgentsOptions {
  return typeof options === "object" && options !== null && "agents" in options && options.agents !== undefined;
}

/** Serves what `compose` creates on a port; `listening` returns the address once it is known. */
export async function listenTo(
  options: HostOptions & ListenOptions,
  compose: (listening: () => ListeningAddress, place: HostPlace) => Promise<ComposedAgent>,
): Promise<Server> {
  const process = await openHostProcess(options);
  const { server } = await listenAlone(options, process, (listening) => compose(listening, { process }));
  return server;
}

/** Serves one agent, which has the root of the port. */
async function listenAlone<A extends ComposedAgent>(
  options: HostOptions & ListenOptions,
  process: HostProcess,
  compose: (listening: () => ListeningAddress) => Promise<A>,
): Promise<{ readonly server: Server; readonly agent: A }> {
  const { host = defaultHost } = options;
  assertGuarded(options, host);
  const guard = createHostGuard(options);
  const boundAddress = bindAddress(options);
  const agent = await compose(() => boundAddress.address()).catch(closeOnFailure(process));
  const { bindings, versions, service, limits, logger, handler } = agent;
  const directory = new Directory<DirectoryEntry<A>>();
  const activeGuard = !isAuthenticated(options) && isLoopback(host) ? guard : undefined;
  const endpoint = activeGuard === undefined ? agent.endpoint : guardEndpoint(agent, activeGuard, options);
  directory.put({ path: "", agent, endpoint, hosts: [], isNamed: false, destination: { service, versions } });
  const port = await listenWith(options, boundAddress, {
    load: process.load,
    unsent: process.admission.unsent.open,
    ...{ directory, bindings, limits, logger, guard: activeGuard, tls: tlsWithAuth(options) },
    watchStore: (listener) => handler.watchStore?.(listener),
    refuse: () => agent.admission.close(),
    idle: () => agent.admission.idle(),
    async end(drainMs) {
      await handler.drain(drainMs);
      await agent.dispose();
      await process.close();
    },
  });
  const server = Object.defineProperties(port, {
    card: { get: () => agent.card.card(), enumerable: true },
    inProcess: { value: agent.inProcess, enumerable: true },
  }) as Server;
  const portFields = options.grpcPort === undefined ? {} : { grpcPort: server.grpcPort };
  logger.info({ url: server.url, ...portFields, bindings, versions: versions.map(({ name }) => name) }, "listening");
  return { server, agent };
}
