import { type CardSecurity, declareSecurity } from "../card/security.js";
import type { ListeningAddress } from "../card/urls.js";
import type { Connection } from "../client/connection.js";
import type { RequestHandler } from "../core/request-handler.js";
import { noop } from "../protocol/async/noop.js";
import { within } from "../protocol/async/pause.js";
import { systemClock } from "../protocol/async/system-clock.js";
import { renameOptions } from "../protocol/check/former-options.js";
import { assertOptions } from "../protocol/check/rules.js";
import type { ServerContext } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import type { AgentCard } from "../protocol/model.js";
import type { Operations } from "../protocol/operations.js";
import { isAuthenticated, loadSchemes } from "../server/authentication.js";
import { type AgentBackend, composeWithBackend, loadRateLimiter, type ServerSettings } from "../server/composition.js";
import { resolveLogger } from "../server/log/stderr-logger.js";
import { type Server, serveOne } from "../server/serve.js";
import type { PushAdapter } from "../version/codec.js";
import { versionTable } from "../version/versions.js";
import { gatewayCard } from "./card.js";
import { checkForwardNames, createForwarding } from "./forward.js";
import { type ForwardedOperations, forwardOperations } from "./handler.js";
import { createNamedSends } from "./named-calls.js";
import { gatewayRule } from "./option-rules.js";
import { defaultRefreshMs, type GatewayOptions } from "./options.js";
import { type RepublishedCard, republishCard } from "./published-card.js";
import { RememberedNames } from "./remembered-names.js";
import { connectUpstream, type Upstream } from "./upstream.js";

// A gateway: a client of a remote agent as the backend of a host, so that it gets every binding and version.

/** A listening gateway. Closing it also closes its connections to the upstream agent. */
export interface Gateway extends Server {
  /** The connection to the upstream agent; `undefined` until one of its interfaces has answered. */
  readonly upstream: Connection | undefined;
}

/** Serves an agent that runs elsewhere. */
export async function serveGateway(givenOptions: GatewayOptions): Promise<Gateway> {
  const gatewayOptions = renameOptions("gateway()", givenOptions);
  assertOptions("gateway()", gatewayOptions, gatewayRule);
  const logger = resolveLogger(gatewayOptions.logger);
  const options = { ...gatewayOptions, logger };
  const { clock = systemClock } = options;
  const forward = checkForwardNames(options.forward);
  const upstream = await connectUpstream(options, { clock, logger });
  try {
    const { server } = await serveOne(options, {
      hasTasks: false,
      compose: (place) => {
        const { listening } = place;
        return composeWithBackend(
          options,
          (settings) => createBackend({ options, upstream, forward, listening, settings }),
          place,
        );
      },
    });
    return Object.defineProperty(server, "upstream", { get: () => upstream.connection }) as Gateway;
  } catch (error) {
    await upstream.close();
    throw error;
  }
}

interface BackendParts {
  readonly options: GatewayOptions;
  readonly upstream: Upstream;
  readonly forward: readonly string[];
  readonly listening: () => ListeningAddress;
  readonly settings: ServerSettings;
}

async function createBackend(parts: BackendParts): Promise<AgentBackend> {
  const { options, upstream, forward, settings } = parts;
  const schemes = await loadSchemes(options);
  const skills = upstream.card.skills.map(({ id }) => id);
  schemes?.assertAuth(options, skills);
  const rateLimiter = await loadRateLimiter(options, { ...settings, skills, hasTasks: false });
  const view = createView(parts, await loadPushAdapters(), schemes?.cardSecurity(options));
  const card = publish(parts, view);
  upstream.onChange = card.renew;
  const { wrapAuthenticate, selectHeaders } = createForwarding(forward);
  const timeoutMs = options.client?.timeoutMs;
  const forwarded = forwardOperations({
    upstream,
    selectHeaders,
    pushes: view.pushes,
    load: settings.load,
    timeoutMs,
  });
  const names = new RememberedNames();
  const takesNames = (): boolean =>
    settings.versions.some(({ name, jsonRpc }) => name === upstream.version && jsonRpc?.taskNamedBy !== undefined);
  const handler: RequestHandler = {
    operations: {
      ...forwarded.operations,
      ...createNamedSends({ upstream: forwarded, names, takesNames }),
      ...extendedCardOperation(forwarded, view, card),
    },
    taskNames: { find: async (principal, name) => names.find(principal, name) },
    stopNewWork: noop,
    get isIdle() {
      return forwarded.activeCalls.count === 0;
    },
    idle: forwarded.activeCalls.idle,
    drain: (ms) => within(settings.clock, ms, forwarded.activeCalls.idle()),
    close: upstream.close,
  };
  const isListed = (uri: string): boolean =>
    upstream.card.capabilities?.extensions.some((extension) => extension.uri === uri) === true;
  return {
    handler,
    card,
    // The agent itself decides which ones are required.
    extensions: (requested) => (requested.length === 0 ? requested : requested.filter(isListed)),
    rates: rateLimiter?.calls,
    accountsAnswers: true,
    wrapAuthenticate,
    dispose: async () => {},
  };
}

/** The published view of the upstream agent. */
interface UpstreamView {
  /**
   * Whether webhooks registered by callers of this version get payloads they understand, since the agent itself calls
   * them.
   */
  pushes(version: string): boolean;
  readonly isExtended: () => boolean;
  /** A card of the agent as it holds for callers of one version or, without a version, for all. */
  card(card: AgentCard, version: string | undefined): AgentCard;
}

/** How webhooks of each version are called; some versions share an adapter. */
type PushAdapters = ReadonlyMap<string | undefined, PushAdapter>;

async function loadPushAdapters(): Promise<PushAdapters> {
  const versions = await Promise.all(versionTable.map((entry) => entry.load()));
  return new Map(versions.map(({ name, push }) => [name, push]));
}

function createView(
  { options, upstream, forward, settings: { versions } }: BackendParts,
  adapters: PushAdapters,
  security: CardSecurity | undefined,
): UpstreamView {
  const names = new Set(forward);
  const isKnown = isAuthenticated(options) || forward.length > 0;
  // Callers of the extended card must be authenticated.
  const isExtended = (): boolean => isKnown && upstream.card.capabilities?.extendedAgentCard === true;
  const pushes = (version: string): boolean =>
    upstream.card.capabilities?.pushNotifications === true && adapters.get(version) === adapters.get(upstream.version);
  return {
    pushes,
    isExtended,
    card(card, version) {
      const pushNotifications = version === undefined ? versions.every(({ name }) => pushes(name)) : pushes(version);
      const ownCard = gatewayCard(card, {
        forward: names,
        pushNotifications,
        extendedAgentCard: isExtended(),
      });
      return security === undefined ? ownCard : declareSecurity(ownCard, security);
    },
  };
}

function publish({ options, upstream, listening, settings }: BackendParts, view: UpstreamView): RepublishedCard {
  const { publicUrl, publicGrpc, trustProxy, basePath, audience, refreshMs = defaultRefreshMs } = options;
  return republishCard({
    cardFor: (version) => view.card(upstream.card, version),
    versions: settings.versions,
    urls: { publicUrl, publicGrpc, trustProxy, basePath },
    audience,
    listening,
    cacheMaxAgeSeconds: Math.ceil((refreshMs || defaultRefreshMs) / 1000),
    now: settings.clock.now,
  });
}

function extendedCardOperation(
  { operations }: ForwardedOperations,
  view: UpstreamView,
  cardPublisher: RepublishedCard,
): Pick<Operations<ServerContext>, "getExtendedAgentCard"> {
  return {
    async getExtendedAgentCard(request, context) {
      if (!view.isExtended()) {
        throw new A2AError(
          "unsupportedOperation",
          "the agent does not declare extendedAgentCard, which GetExtendedAgentCard needs",
        );
      }
      const card = await operations.getExtendedAgentCard(request, context);
      return cardPublisher.place(view.card(card, context.version), context.caller, context.version);
    },
  };
}
