import type { JsonObject } from "@bufbuild/protobuf";
import { callerClock } from "../protocol/async/clock.js";
import { bindingNameOf } from "../protocol/bindings.js";
import { assertOptions } from "../protocol/check/rules.js";
import type { CallOptions } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import type { AgentCard } from "../protocol/model.js";
import type { Operations } from "../protocol/operations.js";
import { withoutEmptyCredentials } from "../protocol/service-parameters.js";
import { versionEntries } from "../version/versions.js";
import { AgentAccess } from "./agent-access.js";
import { BaseClient, type Client, type ClientParts } from "./base-client.js";
import { cardUrls, type DiscoveryOptions, type FoundCard } from "./card/discovery.js";
import { cardReader, type ReadCard } from "./card/read-card.js";
import { findSpokenCard, type SpokenProtocols } from "./card/spoken-card.js";
import { type Composition, isCallable } from "./compose.js";
import { connectRule } from "./option-rules.js";
import {
  type ClientLimits,
  type ClientOptions,
  type ConnectOptions,
  defaultClientLimits,
  fixedClientLimits,
} from "./options.js";
import type { Network, NetworkOptions, Platform } from "./platform.js";
import { createRetries, searchAgain } from "./retrying.js";
import type { TransportFactory } from "./transports.js";
import { knownVersions } from "./versions.js";

// `Client.connect()`: finds the card, picks transports and credentials, and creates the client.

export type { Client } from "./base-client.js";

/** The address of an agent: the URL of its base or its card, or the card itself, as a message or as JSON. */
export type AgentAddress = string | URL | AgentCard | JsonObject;

/** Creates clients. */
export interface ClientFactory {
  /**
   * Reads an agent's card and creates a client for it; interfaces are contacted on first use. Waits up to 8 s for an
   * agent that restarts (`retry`). Throws a `ConnectionError` when no server answers, `unavailable` when there is no
   * card, and `invalidAgentResponse` when it is not a card.
   */
  connect(agent: AgentAddress, options?: ConnectOptions): Promise<Client>;
}

export function clientFactory(platform: Platform): ClientFactory {
  return {
    async connect(agent, givenOptions = {}) {
      assertOptions("Client.connect()", givenOptions, connectRule);
      const { headers } = givenOptions;
      const options =
        headers === undefined ? givenOptions : { ...givenOptions, headers: withoutEmptyCredentials(headers) };
      const parts = await connectParts(agent, options, platform);
      const client = new BaseClient(parts);
      try {
        await extend(client.operations, { ...parts, signal: options.signal }, options);
      } catch (error) {
        await client.close();
        throw error;
      }
      // The constructor has added the operations from the table.
      return client as Client;
    },
  };
}

async function connectParts(agent: AgentAddress, options: ConnectOptions, platform: Platform): Promise<ClientParts> {
  const { clock = callerClock, retry = {} } = options;
  const limits = { ...limitsOf(options.limits), ...fixedClientLimits, ...platform.limits };
  const credentialsFor = options.credentials && (await import("../auth/credential-source.js")).credentialSource;
  const versions = knownVersions(options.fileBytes);
  const allowedVersions = options.versions && versionEntries(options.versions).map(({ name }) => name);
  const address = typeof agent === "string" || agent instanceof URL ? String(agent) : undefined;
  const cards = networkOf(options, platform, { namedBy: "caller", cardUrl: address, limits });
  const readCard = cardReader(versions);
  const discovery: DiscoveryOptions = {
    fetch: cards.fetch,
    headers: options.headers ?? {},
    readCard,
    // Headers may change the card, so such cards are not shared.
    cache:
      options.cardCache === false || options.headers !== undefined
        ? undefined
        : (options.cardCache ?? platform.cardCache),
    maxBytes: limits.cardMaxBytes,
    timeoutMs: limits.cardTimeoutMs,
  };
  const transports = transportsOf(options, platform.transports(versions));
  const callable: SpokenProtocols = {
    versions: allowedVersions,
    isCallable: (card) => isCallable(card, { transports, allowedVersions }),
  };
  const retries = createRetries(retry === false ? { maxAttempts: 1 } : retry);
  const search: Search = {
    readCard,
    find: (urls, signal) =>
      searchAgain((leftMs) => findSpokenCard(urls, { ...discovery, signal, leftMs }, callable), {
        retries,
        clock,
        onRetry: options.onRetry,
        timeoutMs: limits.cardTimeoutMs,
        signal,
      }),
  };
  const { card, url } = await findAgentCard(agent, search, options.signal).catch(async (error: unknown) => {
    await cards.close();
    throw error;
  });
  const closing = new AbortController();
  const network = networkOf(options, platform, { namedBy: "card", cardUrl: url, limits });
  const closeNetworks = (): Promise<unknown> => Promise.all([cards.close(), network.close()]);
  const onLeftOut = options.logger
    ? (await import("./left-out-log.js")).leftOutLog(options.logger, card, url)
    : undefined;
  const { prefer = [], credentials, allowPlaintext = false, headers = {}, tls } = options;
  const secure = options.grpcTls ?? url?.startsWith("https:") ?? true;
  const isSecure = (address: string): boolean =>
    /^\w+:\/\//.test(address) ? /^(?:https|grpcs):/i.test(address) : secure;
  const { fetch, policy } = network;
  const compose = (current: AgentCard): Composition => ({
    transports,
    allowedVersions,
    prefer,
    cardUrl: url,
    setting: { fetch, policy, headers, tls, isSecure, onLeftOut, ...limits },
    credentials:
      credentials &&
      credentialsFor?.(current, credentials, {
        fetch,
        cardUrl: url,
        clock,
        allowPlaintext,
        certificates: tls?.cert !== undefined,
      }),
    // Loaded for calls with secrets.
    secretPlace: async (each) =>
      (await import("./secret-places.js")).secretPlace({
        ...options,
        card: current,
        firstCard: card,
        cardUrl: url,
        binding: each.binding,
        url: each.url,
        secure: isSecure(each.url),
      }),
    clock,
    probeTimeoutMs: limits.probeTimeoutMs,
    onConnection: options.onConnection,
    sendOnce: options.sendOnce ?? true,
    closeSignal: closing.signal,
  });
  let access: AgentAccess;
  try {
    access = new AgentAccess(card, compose);
  } catch (error) {
    // The caller's options are wrong.
    await closeNetworks();
    throw error;
  }
  const readCardAgain = async (): Promise<AgentCard> =>
    url === undefined ? access.card : (await search.find([url], closing.signal)).card;
  const parts: ClientParts = {
    access,
    clock,
    limits,
    retries,
    options,
    closeSignal: closing.signal,
    lastingStream: platform.lastingStream,
    async refresh(operations) {
      access.replaceCard(await readCardAgain());
      await extend(operations, { access, limits }, options);
    },
    async close() {
      closing.abort(new DOMException("the client is closed", "AbortError"));
      await access.close();
      await closeNetworks();
    },
  };
  return platform.observe?.(parts) ?? parts;
}

/** Requests the extended card if there is one; a caller that may not see it keeps the public one (spec 3.1.11). */
async function extend(
  { getExtendedAgentCard }: Operations<CallOptions>,
  { access, limits, signal }: Pick<ClientParts, "access" | "limits"> & Pick<ConnectOptions, "signal">,
  { extendedCard, credentials }: ClientOptions,
): Promise<void> {
  const isWanted = extendedCard ?? credentials !== undefined;
  if (!isWanted || access.card.capabilities?.extendedAgentCard !== true) return;
  try {
    const card = await getExtendedAgentCard(
      { $typeName: "lf.a2a.v1.GetExtendedAgentCardRequest", tenant: "" },
      { signal, timeoutMs: limits.cardTimeoutMs },
    );
    // A card without interfaces cannot replace one that has some.
    if (card.supportedInterfaces.length > 0) access.replaceCard(card);
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
  }
}

interface Search {
  readonly readCard: ReadCard;
  /** Finds the card at one of these URLs, and waits for a server that is away. */
  readonly find: (urls: readonly string[], signal: AbortSignal | undefined) => Promise<FoundCard>;
}

async function findAgentCard(
  agent: AgentAddress,
  { readCard, find }: Search,
  signal: AbortSignal | undefined,
): Promise<FoundCard | { readonly card: AgentCard; readonly url: undefined }> {
  // An address that is not there, such as that of a variable that is not set, is no card either.
  if (typeof agent !== "object" || agent === null || agent instanceof URL) {
    return find(cardUrls(agent), signal);
  }
  return { card: isCard(agent) ? agent : await readCard(agent), url: undefined };
}

function isCard(agent: AgentCard | JsonObject): agent is AgentCard {
  return agent["$typeName"] === "lf.a2a.v1.AgentCard";
}

type NetworkFacts = Pick<NetworkOptions, "namedBy" | "cardUrl"> & { readonly limits: ClientLimits };

/** A custom `fetch` replaces the default one but not the address policy, which gRPC's own connections still need. */
function networkOf(
  { fetch, tls, allowPrivate }: ClientOptions,
  platform: Platform,
  { limits: { connectTimeoutMs }, ...facts }: NetworkFacts,
): Network {
  const network = platform.network({ ...facts, connectTimeoutMs, tls, allowPrivate });
  return fetch === undefined ? network : { ...network, fetch };
}

function limitsOf(limits: Partial<ClientLimits> = {}): ClientLimits {
  const givenLimits = Object.entries(limits).filter(([, value]) => value !== undefined);
  return { ...defaultClientLimits, ...Object.fromEntries(givenLimits) };
}

/** The caller's own transports, and the platform's for the remaining bindings. */
function transportsOf(
  { transports = [] }: ClientOptions,
  ours: readonly TransportFactory[],
): readonly TransportFactory[] {
  const callerBindings = new Set(transports.map(({ binding }) => bindingNameOf(binding)));
  return [...transports, ...ours.filter(({ binding }) => !callerBindings.has(binding))];
}
