import { CallMeter } from "../binding/call-meter.js";
import type { CallHead, LimitedCall, Service } from "../binding/service.js";
import { createTransport } from "../binding/transport.js";
import { listSkills } from "../card/build.js";
import { cardProblems } from "../card/check.js";
import type { CardOptions } from "../card/options.js";
import { callerNetwork } from "../card/proxy.js";
import type { Client } from "../client/base-client.js";
import { monotonic } from "../protocol/async/clock.js";
import { renameOptions } from "../protocol/check/former-options.js";
import { assertOptions } from "../protocol/check/rules.js";
import { omitUndefined } from "../protocol/defaults.js";
import { A2AError } from "../protocol/errors.js";
import { trimSlashes } from "../protocol/http-routes.js";
import { newId } from "../protocol/id/new-id.js";
import { type Logger, withFields } from "../protocol/logger.js";
import { loadOpenTelemetry } from "../telemetry/api.js";
import { createAdmission } from "./admission.js";
import { createTaskAccess, type RunningAgent } from "./agent.js";
import type { AgentRegistry, PlannedAgent, ServerParts } from "./agent-registry.js";
import { type Authentication, isAuthenticated, loadSchemes, openAuthentication } from "./authentication.js";
import { type ComposedLocalAgent, composeLocalAgent } from "./compose-local-agent.js";
import { type InProcessAgent, loadObserver } from "./composition.js";
import { Directory, toKey, toPath } from "./directory.js";
import { chooseGrpcRoute } from "./grpc-route.js";
import { guardUnrouted } from "./host-guard.js";
import { type Limits, limitProblems, processLimits } from "./limits.js";
import { type ClientCode, type LocalClientOptions, LocalClients } from "./local-clients.js";
import { resolveLogger } from "./log/stderr-logger.js";
import { agentPath, servedRule } from "./multi-agent-rules.js";
import {
  type AgentOptions,
  type BaseServerOptions,
  hasOwnAuth,
  type ServeAgentsOptions,
  type ServedAgentOptions,
} from "./options.js";
import type { ListeningPort } from "./port.js";
import type { RateLimiterParts, ServerLimits } from "./rate-limiter.js";
import type { PlannedAgents } from "./serve.js";
import type { ServerProcess } from "./server-process.js";

// Agents with names on one port: what they share, and how each gets its options from its own and those beside `agents`.
//
// An HTTP call finds its agent by host or path. A gRPC call without a host of its own begins at the front, a service
// that authenticates and admits it for all agents that share `auth`. Once its request is read, the call moves to the
// agent that it names (`ServerCall.moveTo`), whose limits, extensions and versions then hold. An agent with an
// authentication of its own is a realm of its own: its callers count apart, and no name leads there.

/** A server of several agents. */
export interface MultiAgentServer extends ListeningPort {
  /** The agents: add, replace and remove them while the server runs. */
  readonly agents: ServedAgents;
  /**
   * Returns a client of an agent, for code outside of a turn: `server.client("/weather", { principal })`. Its calls do
   * not use the network, and the caller is not authenticated again. Throws a `TypeError` for a path without an agent.
   */
  client(path: string, options?: LocalClientOptions): Client;
}

/** @deprecated Use `MultiAgentServer`. */
export type AgentsServer = MultiAgentServer;

/** One of the agents of a server. Once it is replaced, its members are those of the new agent. */
export interface ServedAgent extends InProcessAgent, RunningAgent {
  /** Its path: `/weather`. */
  readonly path: string;
  /** Its base URL: `http://127.0.0.1:41241/weather`. */
  readonly url: string;
}

/** The agents of a running server, iterable in the order in which they were added. */
export interface ServedAgents extends Iterable<ServedAgent> {
  /** The agent at a path. */
  get(path: string): ServedAgent | undefined;
  /**
   * Adds an agent, or replaces the one at the path: the new agent serves the next call, with its own card. Running
   * turns finish with the old code, and open streams continue. Rejects for wrong options, and then changes nothing.
   */
  set(path: string, options: ServedAgentOptions): Promise<ServedAgent>;
  /**
   * Removes an agent: new calls do not find it, and its turns have `drainMs` milliseconds to end. Default: `drainMs` of
   * the server. Its tasks stay in the store for an agent with the same `agentId`. Resolves with false if there is no
   * agent at the path.
   */
  remove(path: string, drainMs?: number): Promise<boolean>;
}

/** Parts that all named agents share. */
export interface SharedParts extends ServerParts {
  readonly options: ServeAgentsOptions & { readonly logger: Logger };
  readonly directory: Directory<ComposedLocalAgent>;
  /** The authentication beside `agents`. */
  readonly authentication: Authentication;
  /** The limits beside `agents`. */
  readonly rates: ServerLimits | undefined;
  /** Counts for its address what reaches the server before an agent is known. */
  readonly arrivals: Service["rates"];
}

/** Agents with names, and what they share. */
export interface OpenedAgents extends PlannedAgents<ComposedLocalAgent> {
  readonly shared: SharedParts;
  plan(path: string, options: ServedAgentOptions): PlannedAgent<ComposedLocalAgent>;
  readonly client: MultiAgentServer["client"];
}

/** Opens what the agents share. Each of them is planned when the one before it is served. */
export async function openNamedAgents(givenOptions: ServeAgentsOptions, server: ServerParts): Promise<OpenedAgents> {
  const options = { ...givenOptions, logger: resolveLogger(givenOptions.logger) };
  const { process, clock, logger } = server;
  const skills = listSkillIds(Object.values(options.agents).map(({ card }) => card));
  (await loadSchemes(options))?.assertAuth(options, skills);
  const rates = await loadServerLimits(options, { clock, logger, skills });
  const arrivals = openArrivals(rates, process, options);
  const authentication = await openAuthentication(options, { clock, logger });
  try {
    const front = await openFront(options, server, authentication, arrivals);
    const rest = server.guard && guardUnrouted(server.guard);
    const catalogue = options.catalogue === true ? await import("./catalogue.js") : undefined;
    const directory: Directory<ComposedLocalAgent> = new Directory({
      basePath: options.basePath,
      front,
      catalogue:
        catalogue && ((found) => catalogue.openCatalogue({ ...server, options, arrivals, directory: found }, rest)),
      rest,
    });
    const shared: SharedParts = { ...server, options, directory, authentication, rates, arrivals };
    const clients = new LocalClients(shared, await loadClients(process));
    const plan = (path: string, agentOptions: ServedAgentOptions) => planAgent(shared, clients, path, agentOptions);
    return {
      shared,
      directory,
      plan,
      *planned() {
        for (const [path, agentOptions] of Object.entries(options.agents)) yield plan(path, agentOptions);
      },
      client: (path, of) => clients.client(path, of),
      close: () => authentication.close(),
    };
  } catch (error) {
    await authentication.close();
    throw error;
  }
}

/** The ids of the skills on cards. A card with problems has none: composing its agent reports them. */
function listSkillIds(cards: readonly CardOptions[]): readonly string[] {
  return cards.flatMap((card) => (cardProblems(card).length === 0 ? listSkills(card) : [])).map(({ id }) => id);
}

/** Loads and creates the limits that the agents have together; `undefined` without limits. */
async function loadServerLimits(
  options: BaseServerOptions,
  parts: Pick<RateLimiterParts, "clock" | "logger" | "skills">,
): Promise<ServerLimits | undefined> {
  if (options.rate === undefined) return undefined;
  return (await import("./rate-limiter.js")).createServerLimits(options, parts);
}

/** Loads the code of clients, which agents that are served alone do not need. */
async function loadClients({ telemetry }: ServerProcess): Promise<ClientCode> {
  const { localClient } = await import("../client/local-client.js");
  const api = telemetry === undefined ? undefined : await loadOpenTelemetry(true);
  if (api === undefined) return { localClient, observe: undefined };
  const { partsObserver } = await import("../client/observed-platform.js");
  return { localClient, observe: partsObserver(api, telemetry?.exceptions ?? "full") };
}

/**
 * Counts for its address what reaches the server before an agent is known. `undefined` where the server limits no address.
 * The counters are opened with the first request: they may be in the store.
 */
function openArrivals(
  rates: ServerLimits | undefined,
  process: ServerProcess,
  { trustProxy }: ServeAgentsOptions,
): Service["rates"] {
  if (rates === undefined || !rates.limitsAddresses) return undefined;
  const open = async () => rates.calls((await process.tasks()).rates, trustProxy);
  let opening: ReturnType<typeof open> | undefined;
  return (head: CallHead): LimitedCall => {
    let call: LimitedCall | undefined;
    return {
      async arrive() {
        opening ??= open();
        call = (await opening)(head);
        await call.arrive();
      },
      checkCaller: () => undefined,
      admit: () => Promise.reject(new A2AError("internalError", "the call has no agent yet")),
      get fields() {
        return call?.fields ?? {};
      },
      leave: () => call?.leave(),
    };
  };
}

/**
 * The service of gRPC calls until their request names an agent: it authenticates and admits them for all agents. Version,
 * extensions and everything else are up to the agent.
 */
async function openFront(
  options: ServeAgentsOptions,
  { process, limits, clock, logger }: ServerParts,
  authentication: Authentication,
  arrivals: Service["rates"],
): Promise<Service> {
  const readNetwork = isAuthenticated(options) ? undefined : callerNetwork(options.trustProxy ?? false);
  const admission = createAdmission({
    process: process.admission,
    readNetwork,
    limits,
    logger,
    extensions: [],
    identify: authentication.identify,
    newId: () => newId(clock.now()),
  });
  const observer = await loadObserver(options, { logger, clock, telemetry: process.telemetry?.calls(undefined) });
  const refuse = (): never => {
    throw new A2AError("internalError", "the call has no agent yet");
  };
  return {
    handler: createTransport({ unary: refuse, stream: refuse }),
    limits,
    versions: [],
    strictVersions: false,
    taskNames: { find: async () => undefined },
    authenticate: admission.authenticate,
    extensions: (requested) => requested,
    enter: admission.enter,
    publicError: admission.publicError,
    rates: arrivals,
    clock: options.clock,
    // The agent of a call that has found it decides whether it is logged.
    observer: observer ?? { begin: () => new CallMeter(monotonic(clock)), end() {} },
  };
}

/** Plans an agent for its path. Throws for limits that contradict those of the server. */
function planAgent(
  shared: SharedParts,
  clients: LocalClients,
  path: string,
  agentOptions: ServedAgentOptions,
): PlannedAgent<ComposedLocalAgent> {
  const key = toKey(path);
  const options = mergeOptions(shared, path, agentOptions);
  const hosts = (agentOptions.hosts ?? []).map((each) => each.toLowerCase());
  const isOwn = hasOwnAuth(agentOptions);
  const realm = isOwn ? path : "";
  const { grpcPort, publicGrpc } = agentOptions;
  return {
    path: key,
    agentId: options.agentId ?? "",
    givenOptions: agentOptions,
    options,
    hosts,
    grpcPort,
    realm,
    title: `the agent at ${path}`,
    route: chooseGrpcRoute({ path: key, hasOwnAuth: isOwn, hosts, grpcPort, publicGrpc }),
    compose: (environment, replaces) =>
      composeLocalAgent(options, {
        ...environment,
        replaces,
        rates: shared.rates,
        authentication: isOwn ? undefined : shared.authentication,
        clients: clients.of(key, agentOptions),
      }),
  };
}

/** The options of one agent, with those that hold for all. */
function mergeOptions(
  { options: shared, limits: serverLimits }: SharedParts,
  path: string,
  agentOptions: ServedAgentOptions,
): AgentOptions {
  const { auth, authenticate, securityDeclaration, anonymous } = hasOwnAuth(agentOptions) ? agentOptions : shared;
  const { interceptors = [], publicUrl } = shared;
  const { agents: _agents, ...serverOptions } = shared;
  return {
    ...serverOptions,
    card: agentOptions.card,
    agent: agentOptions.agent,
    agentId: path.slice(1),
    publicUrl: publicUrl === undefined ? undefined : `${trimSlashes(publicUrl)}${toKey(path)}`,
    ...omitUndefined<Partial<ServedAgentOptions>>(agentOptions),
    auth,
    authenticate,
    securityDeclaration,
    anonymous,
    limits: mergeLimits({ ...shared.limits, ...agentOptions.limits }, serverLimits, path),
    rate: ownRate(shared.rate, agentOptions.rate),
    interceptors: [...interceptors, ...(agentOptions.interceptors ?? [])],
    logger:
      agentOptions.logger === undefined
        ? withFields(shared.logger, { agent: path })
        : resolveLogger(agentOptions.logger),
    basePath: undefined,
  };
}

/** The given limits of an agent, beside those of the process as they are in force. Throws for a contradiction. */
function mergeLimits(given: Partial<Limits>, serverLimits: Limits, path: string): Partial<Limits> {
  const ofProcess = Object.fromEntries(Object.entries(serverLimits).filter(([name]) => processLimits.has(name)));
  const merged = { ...ofProcess, ...given };
  assertOptions("serve()", merged, () => limitProblems(merged, `agents["${path}"].limits`));
  return merged;
}

// Limits beside `agents` count for all agents together, so they are none of this one.
function ownRate(shared: AgentOptions["rate"], agentOptions: AgentOptions["rate"]): AgentOptions["rate"] {
  return shared === undefined ? agentOptions : { failedAttempts: shared.failedAttempts, ...agentOptions };
}

/** The agents of a server, for its program. */
export class NamedAgents implements ServedAgents {
  readonly #registry: AgentRegistry<ComposedLocalAgent>;
  readonly #agents: OpenedAgents;

  constructor(registry: AgentRegistry<ComposedLocalAgent>, agents: OpenedAgents) {
    this.#registry = registry;
    this.#agents = agents;
  }

  *[Symbol.iterator](): Iterator<ServedAgent> {
    for (const { path } of this.#agents.directory.entries) yield this.#view(path);
  }

  get(path: string): ServedAgent | undefined {
    return this.#agents.directory.get(toKey(path)) && this.#view(toKey(path));
  }

  async set(path: string, options: ServedAgentOptions): Promise<ServedAgent> {
    const problems = agentPath(path, "the path of an agent");
    if (problems.length > 0) throw new TypeError(problems.join("\n"));
    await this.#registry.put(toKey(path), () => {
      const entry = `agents.set(${JSON.stringify(path)})`;
      const agentOptions = renameOptions(entry, options);
      assertOptions(entry, agentOptions, servedRule);
      return this.#agents.plan(path, agentOptions);
    });
    return this.#view(toKey(path));
  }

  remove(path: string, drainMs?: number): Promise<boolean> {
    return this.#registry.remove(toKey(path), drainMs);
  }

  #view(key: string): ServedAgent {
    const { directory, shared } = this.#agents;
    const agentAt = (): ComposedLocalAgent => {
      const entry = directory.get(key);
      if (entry === undefined) throw new TypeError(`the agent at ${toPath(key)} was removed`);
      return entry.agent;
    };
    return {
      path: toPath(key),
      get url() {
        return `${shared.address().origin}${shared.options.basePath ?? ""}${key}`;
      },
      get card() {
        return agentAt().card.card();
      },
      inProcess: (callOptions) => agentAt().inProcess(callOptions),
      get tasks() {
        return createTaskAccess(agentAt()).tasks;
      },
      get conversations() {
        return createTaskAccess(agentAt()).conversations;
      },
    };
  }
}
