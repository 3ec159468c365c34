import { listSkills, namedInputModes } from "../card/build.js";
import { allExtensions } from "../card/own-extensions.js";
import { type PublishedCard, publishCard } from "../card/publish.js";
import type { PushStore } from "../core/ports.js";
import { createRequestHandler, type ReplaceableHandler } from "../core/request-handler.js";
import { observePushStore, observeStore } from "../core/store-guard.js";
import type { TurnClients } from "../core/turn-start.js";
import { checkAgentId } from "../protocol/indexed-text.js";
import type { AgentCard } from "../protocol/model.js";
import { createPush, type Push } from "../push/push.js";
import { isAuthenticated, loadSchemes } from "./authentication.js";
import {
  type AgentBackend,
  type AgentEnvironment,
  type ComposedAgent,
  composeWithBackend,
  loadRateLimiter,
  type ServerSettings,
} from "./composition.js";
import type { AgentOptions } from "./options.js";
import type { ServerLimits } from "./rate-limiter.js";
import type { TaskProcess } from "./server-process.js";

/** Where an agent is served, and the agent whose place it takes there. */
export interface LocalAgentEnvironment extends AgentEnvironment {
  readonly replaces?: ComposedLocalAgent | undefined;
  readonly clients?: TurnClients | undefined;
  /** The rate limits that the agents of the server share. Default: none. */
  readonly rates?: ServerLimits | undefined;
}

/** A composed agent that another one can replace. */
export interface ComposedLocalAgent extends ComposedAgent<ReplaceableHandler> {
  readonly push: OpenPush | undefined;
}

/** The deliveries of an agent, and the settings that they were opened with. */
interface OpenPush {
  readonly push: Push;
  readonly store: PushStore;
  readonly settings: string;
  /** How many releases of the agent use them. */
  users: number;
}

/** Composes store, handler and card into an agent that a server or a framework serves. */
export async function composeLocalAgent(
  options: AgentOptions,
  environment: LocalAgentEnvironment,
): Promise<ComposedLocalAgent> {
  let push: OpenPush | undefined;
  const { replaces } = environment;
  const agent = await composeWithBackend(
    // A card with problems is reported when it is published.
    { ...options, securityRequirements: options.card?.securityRequirements },
    async (settings) => {
      const backend = await createBackend(options, environment, settings);
      push = backend.push;
      return backend;
    },
    environment,
  ).catch((error: unknown) => {
    replaces?.handler.restore();
    throw error;
  });
  if (replaces === undefined) return Object.assign(agent, { push });
  const dismiss = (): Promise<void> => {
    replaces.handler.restore();
    return agent.release();
  };
  return Object.assign(agent, { push, dismiss });
}

async function createBackend(
  options: AgentOptions,
  environment: LocalAgentEnvironment,
  settings: ServerSettings,
): Promise<AgentBackend<ReplaceableHandler> & { readonly push: OpenPush | undefined }> {
  const { card, agentId } = options;
  const { limits, logger } = settings;
  if (agentId !== undefined) checkAgentId(agentId);
  const publishedCard = await publishAgentCard(options, environment, settings);
  const process = await environment.process.tasks();
  const skills = listSkills(card).map(({ id }) => id);
  const { clock } = settings;
  const { realm, rates: server } = environment;
  const limiterParts = { clock, logger, rateStore: process.rates, skills, hasTasks: true, server, realm };
  const rateLimiter = await loadRateLimiter(options, limiterParts);
  const { capabilities } = publishedCard.card();
  const push = openPush(options, process, settings, publishedCard.card(), environment.replaces?.push);
  const release = {
    agent: options.agent,
    restartable: options.restartable,
    deadlines: options.deadlines,
    conversations: options.conversations,
    logger,
    limits,
    streaming: capabilities?.streaming,
    push: capabilities?.pushNotifications === true ? push?.push.service : undefined,
    inputModes: namedInputModes(card),
    tenants: options.tenants,
    extendedCard: publishedCard.extended,
    keptClaims: options.auth && (await import("../auth/kept-claims.js")).keptClaims(options.auth),
    telemetry: settings.telemetry?.turns(publishedCard.card()),
    clients: environment.clients,
    charge: rateLimiter?.charge,
  };
  const { core, store, signals } = process;
  const handler =
    environment.replaces?.handler.replacedBy(release) ??
    createRequestHandler({ ...release, ...core, agentId, store, signals, process: core });
  return {
    handler,
    card: publishedCard,
    extensions: allExtensions(card),
    rates: rateLimiter?.calls,
    tasksIn: { store, agentId: agentId ?? "" },
    webhooksDue: push && (() => push.push.due),
    push,
    async dispose() {
      if (push === undefined) return;
      push.users -= 1;
      if (push.users === 0) await push.push.close();
    },
  };
}

/** Opens the deliveries of an agent, or continues those of the agent before it. */
function openPush(
  options: AgentOptions,
  { core, store: tasks, pushStore, signals }: TaskProcess,
  settings: ServerSettings,
  card: AgentCard,
  previous: OpenPush | undefined,
): OpenPush | undefined {
  if (options.push === undefined) return undefined;
  const { allow, events, store = pushStore } = options.push;
  const { versions, limits, clock, logger, telemetry } = settings;
  const key = JSON.stringify([allow, events, limits, versions.map(({ name }) => name)]);
  if (previous?.settings === key && previous.store === store) {
    previous.users += 1;
    return previous;
  }
  const { health, instance } = core;
  const push = createPush({
    allow,
    events,
    signals,
    clock,
    versions,
    limits,
    instance,
    store: observePushStore(store, health),
    tasks: observeStore(tasks, health, settings),
    logger: health.quiet(logger),
    agentId: options.agentId,
    adoptMs: limits.heartbeatMs,
    telemetry: telemetry?.webhooks(card),
  });
  return { push, store, settings: key, users: 1 };
}

/** Checks the card and everything it depends on. */
async function publishAgentCard(
  options: AgentOptions,
  { listening, authentication: shared }: LocalAgentEnvironment,
  { versions, clock }: ServerSettings,
): Promise<PublishedCard> {
  const schemes = await loadSchemes(options);
  const { card, publicUrl, publicGrpc, trustProxy, basePath } = options;
  const publishedCard = publishCard({
    card,
    capabilities: {
      streaming: true,
      pushNotifications: options.push !== undefined,
      authentication: isAuthenticated(options),
      security: schemes?.cardSecurity(options),
    },
    versions,
    urls: { publicUrl, publicGrpc, trustProxy, basePath },
    listening,
    now: clock.now,
  });
  // The card has no problems, so its skills have ids. What several agents share was checked with the skills of all.
  if (shared === undefined) {
    schemes?.assertAuth(
      options,
      listSkills(card).map(({ id }) => id),
    );
  }
  return publishedCard;
}
