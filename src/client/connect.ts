import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { credentialSource } from "../auth/credential-source.js";
import { mayCarry, mayCarryTo } from "../auth/may-carry.js";
import { bindingTable } from "../card/mounts.js";
import { A2AError } from "../protocol/errors.js";
import type { AgentCard } from "../protocol/model.js";
import { AgentAccess } from "./agent-access.js";
import { BaseClient, type ClientOperations, type ClientParts } from "./base-client.js";
import type { Composition } from "./compose.js";
import { cardUrls, type DiscoveryOptions, type FoundCard, findCard } from "./discovery.js";
import { type ClientLimits, type ClientOptions, defaultClientLimits } from "./options.js";
import type { Network, Platform } from "./platform.js";
import { createRetries } from "./retrying.js";
import { machineClock } from "./timing.js";

/** Where an agent is: the URL of its base or of its card, or the card itself, as a message or as JSON. */
export type AgentAddress = string | URL | AgentCard | JsonObject;

/** A client: the eleven operations, and what is built of them. */
export type Client = BaseClient & ClientOperations;

export interface ConnectOptions extends ClientOptions {
  /** Breaks off the search for the card. */
  readonly signal?: AbortSignal | undefined;
}

/** Makes clients. */
export interface ClientFactory {
  /**
   * Reads the card of an agent and makes a client for it; interfaces are called when they are first needed. Throws a
   * `ConnectionError` when nobody is there, `unavailable` when there is no card, `invalidAgentResponse` when it is none.
   */
  connect(agent: AgentAddress, options?: ConnectOptions): Promise<Client>;
}

export function clientFactory(platform: Platform): ClientFactory {
  return {
    async connect(agent, options = {}) {
      const parts = await connectParts(agent, options, platform);
      const client = new BaseClient(parts);
      await extend(client, parts, options);
      // The constructor has given it the operations, by the table.
      return client as Client;
    },
  };
}

async function connectParts(agent: AgentAddress, options: ConnectOptions, platform: Platform): Promise<ClientParts> {
  const { clock = machineClock, interceptors = [], extensions = [], timeoutMs, retry = {} } = options;
  const limits = limitsOf(options.limits);
  const { connectTimeoutMs } = limits;
  const cards = networkOf(options, platform, { connectTimeoutMs, tls: options.tls });
  const read = (json: JsonValue | undefined): AgentCard => readCard(json, platform);
  const discovery: DiscoveryOptions = {
    fetch: cards.fetch,
    headers: options.headers ?? {},
    readCard: read,
    // What is sent along may decide what the card says.
    cache:
      options.cardCache === false || options.headers !== undefined
        ? undefined
        : (options.cardCache ?? platform.cardCache),
    maxBytes: limits.cardMaxBytes,
    timeoutMs: limits.cardTimeoutMs,
    signal: options.signal,
  };
  const { card, url } = await found(agent, discovery, read).catch(async (error: unknown) => {
    await cards.close();
    throw error;
  });
  const trusted = { host: url === undefined ? undefined : new URL(url).hostname, allowPrivate: options.allowPrivate };
  const network = networkOf(options, platform, { connectTimeoutMs, tls: options.tls, trusted });
  const access = new AgentAccess(card, compositionOf({ options, platform, network, limits, cardUrl: url }));
  return {
    access,
    clock,
    limits,
    retries: createRetries(retry === false ? { maxAttempts: 1 } : retry),
    interceptors,
    extensions,
    timeoutMs,
    refresh: async () =>
      url === undefined ? access.card : (await findCard([url], { ...discovery, signal: undefined })).card,
    async close() {
      await access.close();
      await Promise.all([cards.close(), network.close()]);
    },
  };
}

/** Asks for the extended card, where there is one; a caller who may not see it keeps the public one (spec 3.1.11). */
async function extend(client: BaseClient, { access }: ClientParts, options: ClientOptions): Promise<void> {
  const wanted = options.extendedCard ?? options.credentials !== undefined;
  if (!wanted || access.card.capabilities?.extendedAgentCard !== true) return;
  try {
    access.replaceCard(
      await client.operations.getExtendedAgentCard(
        { $typeName: "lf.a2a.v1.GetExtendedAgentCardRequest", tenant: "" },
        {},
      ),
    );
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
  }
}

async function found(
  agent: AgentAddress,
  discovery: DiscoveryOptions,
  read: (json: JsonValue | undefined) => AgentCard,
): Promise<FoundCard | { readonly card: AgentCard; readonly url: undefined }> {
  if (typeof agent === "string" || agent instanceof URL) return findCard(cardUrls(agent), discovery);
  return { card: isCard(agent) ? agent : read(agent), url: undefined };
}

function isCard(agent: AgentCard | JsonObject): agent is AgentCard {
  return agent["$typeName"] === "lf.a2a.v1.AgentCard";
}

function readCard(json: JsonValue | undefined, { versions: [newest] }: Platform): AgentCard {
  if (newest === undefined) throw new TypeError("a client needs a version");
  return newest.readCard(json);
}

function networkOf(options: ClientOptions, platform: Platform, network: Parameters<Platform["network"]>[0]): Network {
  if (options.fetch === undefined) return platform.network(network);
  return { fetch: options.fetch, close: async () => {} };
}

function limitsOf(own: Partial<ClientLimits> = {}): ClientLimits {
  const given = Object.entries(own).filter(([, value]) => value !== undefined);
  return { ...defaultClientLimits, ...Object.fromEntries(given) };
}

interface CompositionFacts {
  readonly options: ClientOptions;
  readonly platform: Platform;
  readonly network: Network;
  readonly limits: ClientLimits;
  readonly cardUrl: string | undefined;
}

function compositionOf({ options, platform, network, limits, cardUrl }: CompositionFacts) {
  const {
    clock = machineClock,
    prefer = [],
    transports = [],
    credentials,
    allowPlaintext = false,
    headers = {},
    tls,
  } = options;
  const own = new Set(transports.map(({ binding }) => binding));
  const secure = options.grpcTls ?? cardUrl?.startsWith("https:") ?? true;
  const isSecure = (url: string): boolean => (/^\w+:\/\//.test(url) ? /^(?:https|grpcs):/i.test(url) : secure);
  const { fetch } = network;
  return (card: AgentCard): Composition => ({
    transports: [...transports, ...platform.transports.filter(({ binding }) => !own.has(binding))],
    prefer,
    setting: { fetch, policy: network.policy, headers, tls, isSecure, ...limits },
    credentials:
      credentials === undefined
        ? undefined
        : credentialSource(card, credentials, { fetch, clock, allowPlaintext, certificates: tls?.cert !== undefined }),
    mayCarry: (binding, url) =>
      binding === bindingTable.grpc.wire
        ? mayCarryTo(
            { secure: isSecure(url), host: url.replace(/^\w+:\/\//, "").replace(/[/?#].*$/s, "") },
            allowPlaintext,
          )
        : mayCarry(url, allowPlaintext),
    clock,
    probeTimeoutMs: limits.probeTimeoutMs,
    onConnection: options.onConnection,
  });
}
