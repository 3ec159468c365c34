import type { HttpEndpoint } from "../binding/http/http.js";
import { createInProcessTransport, type InProcessOptions } from "../binding/in-process/transport.js";
import type { Service } from "../binding/service.js";
import type { Transport } from "../binding/transport.js";
import { mountsOf } from "../card/mounts.js";
import type { ExtensionOptions } from "../card/options.js";
import type { PublishedCard } from "../card/publish.js";
import type { Clock } from "../core/ports.js";
import type { RequestHandler } from "../core/request-handler.js";
import { within } from "../protocol/async/pause.js";
import { systemClock } from "../protocol/async/system-clock.js";
import { type Binding, bindings } from "../protocol/bindings.js";
import { newId } from "../protocol/id/new-id.js";
import type { Logger } from "../protocol/logger.js";
import type { AgentCard } from "../protocol/model.js";
import { openTelemetry } from "../telemetry/open.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import type { Version } from "../version/codec.js";
import { versionEntries } from "../version/versions.js";
import { type Admission, createAdmission } from "./admission.js";
import type { Observation } from "./call-observer.js";
import { createEndpoint } from "./endpoint.js";
import { isAuthenticated, openGuarding } from "./guarded.js";
import { type Limits, resolveLimits } from "./limits.js";
import { loadGuarding } from "./load-guarding.js";
import { loggerOf } from "./log/stderr-logger.js";
import { type HostOptions, type ServerInterceptor, versionSettings } from "./options.js";
import { createLoad, type Load } from "./overload/load.js";

/** An agent that can be called in this process, with or without a port. */
export interface InProcessAgent {
  /** The card as served at the agent's address. */
  readonly card: AgentCard;
  /** Calls the agent without a network. Authentication, limits, extensions and versions work as over a port. */
  inProcess(options?: Pick<InProcessOptions, "principal" | "version" | "headers">): Transport;
}

/** Settings fixed before anything is built. */
export interface HostSettings {
  readonly versions: readonly [Version, ...Version[]];
  readonly limits: Limits;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Absent unless calls and turns are followed. */
  readonly telemetry: Telemetry | undefined;
  /** `undefined` where nothing is measured. */
  readonly load: Load | undefined;
}

/** What answers the calls that a host admits. */
export interface Backend<H extends RequestHandler = RequestHandler> {
  readonly handler: H;
  readonly card: PublishedCard;
  /** Extensions that calls may activate, or a function that chooses among a call's extensions where they vary. */
  readonly extensions: readonly ExtensionOptions[] | Service["extensions"];
  /** Limits calls by who is asking. Absent without such limits. */
  readonly rates?: Service["rates"];
  /** Wraps the authentication. */
  readonly wrapAuthenticate?: ((authenticate: Service["authenticate"]) => Service["authenticate"]) | undefined;
  /** Webhooks that are called, or wait for their turn. */
  readonly webhooksDue?: (() => number) | undefined;
  /** Releases what remains after `handler` is closed and no call is active. */
  dispose(): Promise<void>;
}

/** Everything that a server needs to give an agent a port. */
export interface ComposedAgent<H extends RequestHandler = RequestHandler> extends Pick<InProcessAgent, "inProcess"> {
  readonly endpoint: HttpEndpoint;
  readonly service: Service;
  readonly versions: readonly [Version, ...Version[]];
  readonly bindings: readonly Binding[];
  readonly card: PublishedCard;
  readonly admission: Admission;
  readonly handler: H;
  readonly limits: Limits;
  readonly logger: Logger;
  readonly load: Load | undefined;
  /** Releases what remains after `handler` is closed. */
  dispose(): Promise<void>;
}

/** What telemetry makes of a part, where there is telemetry. */
function followed<T>(follow: ((part: T) => T) | undefined, part: T): T {
  return follow === undefined ? part : follow(part);
}

const defaultBindings = bindings.filter(({ isCore }) => isCore).map(({ name }) => name);

/** The bindings in the options, by default the protocol's own. */
export function bindingsOf({ bindings: named = defaultBindings }: Pick<HostOptions, "bindings">): readonly Binding[] {
  return named;
}

/** Puts admission, bindings and card in front of a backend. */
export async function composeAround<H extends RequestHandler>(
  options: HostOptions,
  build: (settings: HostSettings) => Backend<H> | Promise<Backend<H>>,
): Promise<ComposedAgent<H>> {
  const telemetry = await openTelemetry(options.telemetry);
  try {
    return await compose(options, build, telemetry);
  } catch (error) {
    await telemetry?.close();
    throw error;
  }
}

async function compose<H extends RequestHandler>(
  options: HostOptions,
  build: (settings: HostSettings) => Backend<H> | Promise<Backend<H>>,
  telemetry: Telemetry | undefined,
): Promise<ComposedAgent<H>> {
  const { interceptors = [] } = options;
  const clock = followed(telemetry?.clock, options.clock ?? systemClock);
  const logger = followed(telemetry?.logger, loggerOf(options.logger));
  const limits = resolveLimits(options.limits, isAuthenticated(options));
  const bindings = bindingsOf(options);
  const { served, strict = false, fileBytes } = versionSettings(options);
  const [newest, ...others] = await Promise.all(
    versionEntries(served).map((entry) => entry.load({ limits, fileBytes })),
  );
  if (newest === undefined) throw new TypeError("no version is served");
  const versions = [newest, ...others] as const;
  const load = createLoad({ limits, clock, logger });
  const backend = await build({ versions, limits, clock, logger, load, telemetry });
  const { handler, card, extensions } = backend;
  const isChoice = typeof extensions === "function";
  const guarding = (await (await loadGuarding(options))?.createGuarding(options, clock, logger)) ?? openGuarding;
  const admission = createAdmission({
    identify: guarding.identify,
    isOpen: !isAuthenticated(options),
    extensions: isChoice ? [] : extensions,
    ...{ limits, clock, logger, load },
    newId: () => newId(clock.now()),
  });
  const service: Service = {
    handler: handler.operations,
    limits,
    versions: versions.map(({ name }) => name),
    strictVersions: strict,
    taskNames: handler.taskNames,
    authenticate: backend.wrapAuthenticate?.(admission.authenticate) ?? admission.authenticate,
    extensions: isChoice ? extensions : admission.extensions,
    enter: admission.enter,
    publicError: admission.publicError,
    rates: backend.rates,
    interception: interceptors.length === 0 ? undefined : await interceptionBy(interceptors),
    observer: await observerOf(options, { logger, clock, telemetry: telemetry?.calls(card.card()) }),
  };
  card.mount(mountsOf(bindings, versions));
  const unwatch = telemetry?.watch(card.card(), () => ({
    ...handler.figures?.(),
    streams: admission.streams,
    webhooksDue: backend.webhooksDue?.(),
  }));
  if (telemetry?.metricsUrl !== undefined) logger.info({ url: telemetry.metricsUrl }, "metrics are served");
  return {
    endpoint: createEndpoint(options, { bindings, versions, service, card: card.endpoint }),
    ...{ service, versions, bindings, card, admission, handler, limits, logger, load },
    inProcess: (own) => createInProcessTransport(handler.operations, { ...own, admission: service, limits, clock }),
    async dispose() {
      await handler.close();
      // Streams were asked to end; they still deliver what is stored.
      await within(clock, limits.graceMs, admission.idle());
      load?.close();
      await Promise.all([backend.dispose(), guarding.close()]);
      unwatch?.();
      await telemetry?.close();
    },
  };
}

async function interceptionBy(interceptors: readonly ServerInterceptor[]): Promise<Service["interception"]> {
  return (await import("../protocol/intercept.js")).interceptionOf(interceptors);
}

async function observerOf({ accessLog }: HostOptions, { logger, ...parts }: Observation): Promise<Service["observer"]> {
  if (accessLog !== true && parts.telemetry === undefined) return undefined;
  const { createCallObserver } = await import("./call-observer.js");
  return createCallObserver({ ...parts, logger: accessLog === true ? logger : undefined });
}
