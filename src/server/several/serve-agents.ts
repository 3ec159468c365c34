import { cors } from "../../binding/http/cors.js";
import type { HttpEndpoint } from "../../binding/http/http.js";
import { callerNetwork } from "../../card/proxy.js";
import type { Client } from "../../client/base-client.js";
import { loadOpenTelemetry } from "../../telemetry/api.js";
import { isAuthenticated, isLoopback, tlsWithAuth } from "../caller-guard.js";
import { assertAuthOf, skillIdsOf } from "../compose-agent.js";
import { bindingsOf, callerGuardOf, observerOf } from "../host.js";
import { createHostGuard, guardRest, type HostGuard } from "../host-guard.js";
import { closeOnFailure, type HostProcess, openHostProcess, type TaskProcess } from "../host-process.js";
import { resolveLimits } from "../limits.js";
import { serverLimitsOf } from "../load-caller-guard.js";
import { loggerOf } from "../log/stderr-logger.js";
import { AgentKeeper, type ServedAgents } from "./agents.js";
import { openArrivals } from "./arrivals.js";
import { catalogueEndpoint, visiblePaths } from "./catalogue.js";
import { type ClientCode, type LocalClientOptions, LocalClients } from "./clients.js";
import { Directory } from "./directory.js";
import { frontService } from "./front.js";
import type { ServeAgentsOptions } from "./options.js";
import { type BoundAddress, bindAddress, defaultDrainMs, type ListeningPort, listenWith } from "./port.js";
import type { ServedEntry, SharedParts } from "./shared-parts.js";

// Several agents on one port: one process, one store and one lifecycle. `directory.ts` finds the agent of a call.

/** A server of several agents. */
export interface AgentsServer extends ListeningPort {
  /** The agents: add, replace and remove them while the server runs. */
  readonly agents: ServedAgents;
  /**
   * Returns a client of an agent by its path, for the program, outside of a turn: `server.client("/weather", { principal })`.
   * Its calls need no network, and callers are not authenticated again. Throws a `TypeError` for a path without an agent.
   */
  client(path: string, options?: LocalClientOptions): Client;
}

/** Serves several agents on one port, by checked options. */
export async function serveAgents(serveOptions: ServeAgentsOptions): Promise<AgentsServer> {
  const options = { ...serveOptions, logger: loggerOf(serveOptions.logger) };
  const boundAddress = bindAddress(options);
  const process = await openHostProcess(options);
  const shared = await shareParts(options, boundAddress, process).catch(closeOnFailure(process));
  const { callerGuard, directory, limits, logger, tls, guard } = shared;
  const keeper = new AgentKeeper(shared);
  const end = async (drainMs: number): Promise<void> => {
    process.admission.close();
    await keeper.close(drainMs);
    await Promise.all([callerGuard.close(), process.close()]);
  };
  const { core } = await addAgents(keeper, options.agents, process).catch(async (error: unknown) => {
    await end(0);
    throw error;
  });
  const port = await listenWith(options, boundAddress, {
    ...{ directory, limits, logger, guard, tls, end },
    unsent: process.admission.unsent.open,
    bindings: bindingsOf(options),
    watchStore: (listener) => core.health.watch(listener),
    load: process.load,
    grows: true,
    setServing: (serving) => keeper.setServing(serving),
    retire: (ms) => keeper.retire(ms),
    refuse: () => process.admission.close(),
    idle: () => process.admission.activeCalls.idle(),
  });
  const own = options.grpcPort === undefined ? {} : { grpcPort: port.grpcPort };
  logger.info({ url: port.url, ...own, agents: Object.keys(options.agents) }, "listening");
  if (options.store === undefined) logger.info({}, "tasks are kept in memory and are lost with the process");
  const client: AgentsServer["client"] = (path, of) => shared.clients.client(path, of);
  return Object.assign(port, { agents: keeper, client });
}

/** Adds the first agents, and opens the store even if there are none. */
async function addAgents(
  keeper: AgentKeeper,
  agents: ServeAgentsOptions["agents"],
  process: HostProcess,
): Promise<TaskProcess> {
  for (const [path, portFields] of Object.entries(agents)) await keeper.set(path, portFields);
  return process.tasks();
}

/** What the agents share, and what the server needs besides. */
interface ServerParts extends SharedParts {
  readonly guard: HostGuard | undefined;
  readonly clients: LocalClients;
}

async function shareParts(
  options: SharedParts["options"],
  boundAddress: BoundAddress,
  process: HostProcess,
): Promise<ServerParts> {
  const { clock } = process;
  const logger = process.loggerOf(options.logger);
  const isOpen = !isAuthenticated(options);
  const limits = resolveLimits(options.limits, !isOpen);
  const agentList = Object.values(options.agents);
  const skills = skillIdsOf(agentList.map(({ card }) => card));
  await assertAuthOf(options, skills);
  const rates = await serverLimitsOf(options, { clock, logger, skills });
  const arrivals = openArrivals({ rates, process, options });
  const observer = await observerOf(options, { logger, clock, telemetry: process.telemetry?.calls(undefined) });
  const callerGuard = await callerGuardOf(options, clock, logger);
  const allowedHosts = [...(options.allowedHosts ?? []), ...agentList.flatMap(({ hosts = [] }) => hosts)];
  const networkOf = isOpen ? callerNetwork(options.trustProxy ?? false) : undefined;
  const guard = isOpen && isLoopback(boundAddress.host) ? createHostGuard({ ...options, allowedHosts }) : undefined;
  const rest = guard && guardRest(guard);
  const shared: SharedParts = {
    ...{ options, host: boundAddress.host, process, callerGuard, rates, arrivals, limits, clock, logger },
    drainMs: options.drainMs ?? defaultDrainMs,
    tls: agentList.reduce((tls, { auth }) => tlsWithAuth({ tls, auth }), tlsWithAuth(options)),
    clientsOf: (key, agentOptions) => clients.of(key, agentOptions),
    directory: new Directory<ServedEntry>({
      basePath: options.basePath,
      front: frontService({ process, callerGuard, arrivals, observer, networkOf, limits, clock, logger }),
      catalogue:
        options.catalogue === true
          ? { endpoint: (request) => list(request), visiblePaths: (request) => visiblePaths(request, shared) }
          : undefined,
      rest,
    }),
    address: () => boundAddress.address(),
    listeners: () => boundAddress.listeners,
  };
  const clients = new LocalClients(shared, await loadClients(process));
  const list = openCatalogue(shared, rest);
  return { ...shared, guard, clients };
}

function openCatalogue(shared: SharedParts, rest: HttpEndpoint | undefined): HttpEndpoint {
  const list = catalogueEndpoint(shared);
  const endpoint: HttpEndpoint = (request) => rest?.(request) ?? list(request);
  return shared.options.cors === undefined ? endpoint : cors(endpoint, shared.options.cors);
}

/** Loads the code of clients, which agents that are served alone do not need. */
async function loadClients({ telemetry }: HostProcess): Promise<ClientCode> {
  const { localClient } = await import("../../client/local-client.js");
  const api = telemetry === undefined ? undefined : await loadOpenTelemetry(true);
  if (api === undefined) return { localClient, observe: undefined };
  const { partsObserver } = await import("../../client/observed-platform.js");
  return { localClient, observe: partsObserver(api, telemetry?.exceptions ?? "full") };
}
