import type { HttpEndpoint } from "../binding/http/http.js";
import { createInProcessTransport, type InProcessOptions } from "../binding/in-process/transport.js";
import type { Service } from "../binding/service.js";
import type { Transport } from "../binding/transport.js";
import { createMounts, type Mount } from "../card/mounts.js";
import type { ExtensionOptions } from "../card/options.js";
import { callerNetwork } from "../card/proxy.js";
import type { PublishedCard } from "../card/publish.js";
import type { ListeningAddress } from "../card/urls.js";
import type { Clock } from "../core/ports.js";
import type { RequestHandler } from "../core/request-handler.js";
import { within } from "../protocol/async/pause.js";
import { type Binding, bindingNames, bindings } from "../protocol/bindings.js";
import { newId } from "../protocol/id/new-id.js";
import type { Logger } from "../protocol/logger.js";
import type { AgentCard } from "../protocol/model.js";
import type { TaskSource, Telemetry } from "../telemetry/telemetry.js";
import type { Version } from "../version/codec.js";
import type { VersionOptions } from "../version/options.js";
import { type Admission, createAdmission } from "./admission.js";
import { type Authentication, isAuthenticated, openAuthentication } from "./authentication.js";
import { isMountable, serverBindings } from "./bindings.js";
import type { Observation } from "./call-observer.js";
import { createEndpoint } from "./endpoint.js";
import { type Limits, resolveLimits } from "./limits.js";
import { type BaseServerOptions, versionSettings } from "./options.js";
import type { Load } from "./overload/load.js";
import type { RateLimiter, RateLimiterOptions, RateLimiterParts } from "./rate-limiter.js";
import type { ServerProcess } from "./server-process.js";

// Composes an agent, with or without a port: admission, authentication, limits, bindings and card in front of a backend.
// The backend is a local agent (`compose-local-agent.ts`) or a gateway.

/** An agent that can be called in this process, with or without a port. */
export interface InProcessAgent {
  /** The card as served at the agent's address. */
  readonly card: AgentCard;
  /**
   * Returns a transport that calls the agent without a network. Authentication, limits, extensions and versions work as
   * over a port.
   */
  inProcess(options?: Pick<InProcessOptions, "principal" | "version" | "headers" | "chain">): Transport;
}

/** Settings fixed before anything is built. */
export interface ServerSettings {
  readonly versions: readonly [Version, ...Version[]];
  readonly limits: Limits;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Absent unless calls and turns are followed. */
  readonly telemetry: Telemetry | undefined;
  /** `undefined` where nothing is measured. */
  readonly load: Load | undefined;
}

/** Answers the calls that the server admits: a local agent or a gateway. */
export interface AgentBackend<H extends RequestHandler = RequestHandler> {
  readonly handler: H;
  readonly card: PublishedCard;
  /** Extensions that calls may activate, or a function that chooses among a call's extensions where they vary. */
  readonly extensions: readonly ExtensionOptions[] | Service["extensions"];
  /** Rate limits of calls. Absent without such limits. */
  readonly rates?: Service["rates"];
  /** Whether its operations bring answers from elsewhere into memory. Default: false. */
  readonly accountsAnswers?: boolean;
  /** Wraps the authentication. */
  readonly wrapAuthenticate?: ((authenticate: Service["authenticate"]) => Service["authenticate"]) | undefined;
  /** Webhooks that are called, or wait for their turn. */
  readonly webhooksDue?: (() => number) | undefined;
  /** Where its tasks are. A gateway has none. */
  readonly tasksIn?: TaskSource | undefined;
  /** Releases what remains after `handler` is closed and no call is active. */
  dispose(): Promise<void>;
}

/** Where an agent is served, among others. */
export interface AgentEnvironment {
  readonly process: ServerProcess;
  readonly listening: () => ListeningAddress;
  /** Whether it is mounted in another server, which answers only plain HTTP requests. Default: false. */
  readonly isMounted?: boolean | undefined;
  /** Distinguishes callers of the agent's own authentication from others with the same owner. Default: `""`. */
  readonly realm?: string | undefined;
  /** The authentication of several agents. Default: the agent's own. */
  readonly authentication?: Authentication | undefined;
  /** The interfaces that callers can reach, with their tenants. Default: all. */
  readonly reachable?: ((mounts: readonly Mount[]) => readonly Mount[]) | undefined;
}

/** Everything that a server needs to give an agent a port. */
export interface ComposedAgent<H extends RequestHandler = RequestHandler> extends Pick<InProcessAgent, "inProcess"> {
  readonly endpoint: HttpEndpoint;
  readonly service: Service;
  readonly versions: readonly [Version, ...Version[]];
  /** The bindings on the card. */
  readonly bindings: readonly Binding[];
  /** The served bindings, on the card or not. */
  readonly servedBindings: readonly Binding[];
  readonly card: PublishedCard;
  readonly admission: Admission;
  readonly handler: H;
  readonly limits: Limits;
  readonly logger: Logger;
  /** Its id in the store. */
  readonly agentId: string;
  /** Discards it before it has served a call; an agent that it was to replace continues. */
  dismiss(): Promise<void>;
  /** Closes the handler, and what remains after it. */
  dispose(): Promise<void>;
  /** Releases what its calls needed, once they have ended. For an agent whose handler another one has continued. */
  release(): Promise<void>;
}

const defaultBindings = bindings.filter(({ isCore }) => isCore).map(({ name }) => name);

/** The bindings in the options, by default the protocol's own. */
export function chooseBindings({ bindings: names = defaultBindings }: BaseServerOptions): readonly Binding[] {
  return names;
}

/** The served bindings: the card's, and the unlisted ones too unless the options list bindings. */
function servedBindings({ bindings: names }: BaseServerOptions, listed: readonly Binding[]): readonly Binding[] {
  return names === undefined
    ? bindingNames.filter((name) => listed.includes(name) || serverBindings[name].isServedUnlisted === true)
    : listed;
}

/** Puts admission, bindings and card in front of a backend. */
export async function composeWithBackend<H extends RequestHandler>(
  options: BaseServerOptions & Pick<VersionOptions, "securityRequirements">,
  build: (settings: ServerSettings) => AgentBackend<H> | Promise<AgentBackend<H>>,
  environment: AgentEnvironment,
): Promise<ComposedAgent<H>> {
  const { clock, telemetry, load } = environment.process;
  const logger = environment.process.resolveLogger(options.logger);
  const limits = resolveLimits(options.limits, isAuthenticated(options));
  const bindings = chooseBindings(options).filter((name) => environment.isMounted !== true || isMountable(name));
  const { served: versionNames, strict = false, fileBytes } = versionSettings(options);
  const { securityRequirements } = options;
  const [newest, ...others] = await environment.process.versions(versionNames, {
    limits,
    fileBytes,
    securityRequirements,
  });
  if (newest === undefined) throw new TypeError("no version is served");
  const versions = [newest, ...others] as const;
  const settings = { versions, limits, clock, logger, load, telemetry };
  const backend = await build(settings);
  const { handler, card } = backend;
  const authentication = environment.authentication ?? (await openAuthentication(options, { clock, logger }));
  const parts = { options, backend, settings, authentication, environment };
  const { admission, service } = await createService(parts, strict);
  const mounts = createMounts(bindings, versions);
  const served = servedBindings(options, bindings);
  card.mount(environment.reachable?.(mounts) ?? mounts);
  const unwatch = telemetry?.watch(card.card(), () => ({
    ...handler.stats?.(),
    parked: handler.parked,
    taskSource: backend.tasksIn,
    streams: admission.streams,
    webhooksDue: backend.webhooksDue?.(),
  }));
  const release = async (): Promise<void> => {
    await Promise.all([backend.dispose(), environment.authentication === undefined && authentication.close()]);
    unwatch?.();
  };
  const dispose = async (): Promise<void> => {
    await handler.close();
    // Streams were asked to end; they still deliver what is stored.
    await within(clock, limits.graceMs, admission.idle());
    await release();
  };
  return {
    endpoint: createEndpoint(options, { bindings: served, versions, service, card: card.endpoint }),
    service,
    versions,
    bindings,
    servedBindings: served,
    card,
    admission,
    handler,
    limits,
    logger,
    inProcess: (callOptions) =>
      createInProcessTransport(handler.operations, { ...callOptions, admission: service, limits, clock }),
    agentId: backend.tasksIn?.agentId ?? "",
    dismiss: dispose,
    dispose,
    async release() {
      await admission.idle();
      await release();
    },
  };
}

/** The parts of an agent's service. */
interface ServiceParts {
  readonly options: BaseServerOptions;
  readonly backend: AgentBackend;
  readonly settings: ServerSettings;
  readonly authentication: Authentication;
  readonly environment: AgentEnvironment;
}

async function createService(
  { options, backend, settings, authentication, environment }: ServiceParts,
  strictVersions: boolean,
): Promise<{ readonly admission: Admission; readonly service: Service }> {
  const { handler, card, extensions } = backend;
  const { versions, limits, clock, logger, telemetry } = settings;
  const { interceptors = [] } = options;
  const isChoice = typeof extensions === "function";
  const admission = createAdmission({
    process: environment.process.admission,
    realm: environment.realm,
    identify: authentication.identify,
    readNetwork: isAuthenticated(options) ? undefined : callerNetwork(options.trustProxy ?? false),
    extensions: isChoice ? [] : extensions,
    limits,
    logger,
    newId: () => newId(clock.now()),
  });
  const service: Service = {
    handler: handler.operations,
    limits,
    versions: versions.map(({ name }) => name),
    strictVersions,
    taskNames: handler.taskNames,
    authenticate: backend.wrapAuthenticate?.(admission.authenticate) ?? admission.authenticate,
    extensions: isChoice ? extensions : admission.extensions,
    enter: admission.enter,
    publicError: admission.publicError,
    rates: backend.rates,
    accountsAnswers: backend.accountsAnswers,
    clock: options.clock,
    interception:
      interceptors.length === 0
        ? undefined
        : (await import("../protocol/intercept.js")).composeInterceptors(interceptors),
    observer: await loadObserver(options, { logger, clock, telemetry: telemetry?.calls(card.card()) }),
  };
  return { admission, service };
}

/** Loads what logs and measures calls; `undefined` when the options ask for neither. */
export async function loadObserver(
  { accessLog }: BaseServerOptions,
  { logger, ...parts }: Observation,
): Promise<Service["observer"]> {
  if (accessLog !== true && parts.telemetry === undefined) return undefined;
  const { createCallObserver } = await import("./call-observer.js");
  return createCallObserver({ ...parts, logger: accessLog === true ? logger : undefined });
}

/** Loads and creates the rate limits; `undefined` without limits. Rejects as `createRateLimiter` throws. */
export async function loadRateLimiter(
  options: RateLimiterOptions,
  parts: RateLimiterParts,
): Promise<RateLimiter | undefined> {
  if (options.rate === undefined && parts.server === undefined) return undefined;
  return (await import("./rate-limiter.js")).createRateLimiter(options, parts);
}
