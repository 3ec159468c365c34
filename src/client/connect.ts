import type { JsonObject } from "@bufbuild/protobuf";
import { callerClock } from "../protocol/async/clock.js";
import { toBindingName } from "../protocol/bindings.js";
import { assertOptions } from "../protocol/check/rules.js";
import type { CallOptions } from "../protocol/context.js";
import { withDefaults } from "../protocol/defaults.js";
import { A2AError } from "../protocol/errors.js";
import { isObject } from "../protocol/kinds.js";
import { type AgentCard, typeNames } from "../protocol/model.js";
import type { Operations } from "../protocol/operations.js";
import { withoutEmptyCredentials } from "../protocol/service-parameters.js";
import { versionEntries } from "../version/versions.js";
import { type AgentAccess, CardAccess } from "./agent-access.js";
import { BaseClient, type Client, type ClientParts } from "./base-client.js";
import { cardUrls, type DiscoveryOptions, type FoundCard, findCallableCard } from "./card/discovery.js";
import { cardReader } from "./card/read-card.js";
import { isCallable } from "./interface-pool.js";
import { connectRule } from "./option-rules.js";
import { type ClientOptions, type ConnectOptions, defaultClientLimits, fixedClientLimits } from "./options.js";
import type { Network, NetworkOptions, Platform } from "./platform.js";
import { createRetries, retrySearch } from "./retrying.js";
import type { TransportFactory } from "./transports.js";
import { knownVersions } from "./versions.js";

// `Client.connect()`: finds the card, picks transports and credentials, and creates the client.

export type { Client } from "./base-client.js";

/** The address of an agent: its base URL, the URL of its card, or the card itself as a message or as JSON. */
export type AgentAddress = string | URL | AgentCard | JsonObject;

/** Creates clients. */
export interface ClientFactory {
  /**
   * Reads an agent's card and creates a client; interfaces are contacted on first use. Waits up to 8 s for an agent
   * that restarts (`retry`). Rejects with a `TypeError` for wrong options, a `ConnectionError` if no server answers,
   * `unavailable` if there is no card, and `invalidAgentResponse` if the document is not a card.
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
        const call = { signal: options.signal, timeoutMs: parts.limits.cardTimeoutMs };
        await extend(client.operations, parts.access, options, call);
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
  const {
    clock = callerClock,
    retry = {},
    headers = {},
    prefer = [],
    credentials,
    allowPlaintext = false,
    tls,
  } = options;
  const limits = { ...withDefaults(defaultClientLimits, options.limits), ...fixedClientLimits, ...platform.limits };
  const networks: Network[] = [];
  const openNetwork = (namedBy: NetworkOptions["namedBy"], cardUrl: string | undefined): Network => {
    const { connectTimeoutMs } = limits;
    const network = platform.network({ namedBy, cardUrl, connectTimeoutMs, tls, allowPrivate: options.allowPrivate });
    networks.push(network);
    // A custom `fetch` does not replace the address policy, which gRPC's own connections still need.
    return options.fetch === undefined ? network : { ...network, fetch: options.fetch };
  };
  const closeNetworks = () => Promise.all(networks.map((network) => network.close()));
  try {
    const credentialsFor = credentials && (await import("../auth/credential-source.js")).credentialSource;
    const versions = knownVersions(options.fileBytes);
    const allowedVersions = options.versions && versionEntries(options.versions).map(({ name }) => name);
    const readCard = cardReader(versions);
    const transports = mergeTransports(options, platform.transports(versions));
    const callable = {
      versions: allowedVersions,
      isCallable: (card: AgentCard) => isCallable(card, { transports, allowedVersions }),
    };
    const retries = createRetries(retry === false ? { maxAttempts: 1 } : retry);
    const discovery: DiscoveryOptions = {
      fetch: openNetwork("caller", typeof agent === "string" || agent instanceof URL ? String(agent) : undefined).fetch,
      headers,
      readCard,
      // Headers may change the card, so such cards are not shared.
      cache:
        options.cardCache === false || options.headers !== undefined
          ? undefined
          : (options.cardCache ?? platform.cardCache),
      maxBytes: limits.cardMaxBytes,
      timeoutMs: limits.cardTimeoutMs,
    };
    // Waits for a server that is away.
    const find = (urls: readonly string[], signal: AbortSignal | undefined): Promise<FoundCard> =>
      retrySearch((leftMs) => findCallableCard(urls, { ...discovery, signal, leftMs }, callable), {
        retries,
        clock,
        onRetry: options.onRetry,
        timeoutMs: limits.cardTimeoutMs,
        signal,
      });
    const { card: firstCard, url: cardUrl } = isCardObject(agent)
      ? { card: isCard(agent) ? agent : await readCard(agent), url: undefined }
      : await find(cardUrls(agent), options.signal);
    const { fetch, policy } = openNetwork("card", cardUrl);
    const closing = new AbortController();
    const closeSignal = closing.signal;
    const onLeftOut = options.logger
      ? (await import("./omission-log.js")).createOmissionLog(options.logger, firstCard, cardUrl)
      : undefined;
    const secure = options.grpcTls ?? cardUrl?.startsWith("https:") ?? true;
    const isSecure = (url: string): boolean => (/^\w+:\/\//.test(url) ? /^(?:https|grpcs):/i.test(url) : secure);
    const access = new CardAccess(firstCard, (card) => ({
      transports,
      allowedVersions,
      prefer,
      cardUrl,
      setting: { fetch, policy, headers, tls, isSecure, onLeftOut, ...limits },
      credentials:
        credentials &&
        credentialsFor?.(card, credentials, {
          fetch,
          cardUrl,
          clock,
          allowPlaintext,
          certificates: tls?.cert !== undefined,
        }),
      // Loaded for calls with secrets.
      secretPolicy: async ({ binding, url }) =>
        (await import("./secret-policy.js")).createSecretPolicy({
          ...options,
          card,
          firstCard,
          cardUrl,
          binding,
          url,
          secure: isSecure(url),
        }),
      clock,
      probeTimeoutMs: limits.probeTimeoutMs,
      onConnection: options.onConnection,
      sendOnce: options.sendOnce ?? true,
      closeSignal,
    }));
    const parts: ClientParts = {
      access,
      clock,
      limits,
      retries,
      options,
      closeSignal,
      resumingStream: platform.resumingStream,
      async refresh(operations) {
        access.replaceCard(cardUrl === undefined ? access.card : (await find([cardUrl], closeSignal)).card);
        await extend(operations, access, options, { timeoutMs: limits.cardTimeoutMs });
      },
      async close() {
        closing.abort(new DOMException("the client is closed", "AbortError"));
        await access.close();
        await closeNetworks();
      },
    };
    return platform.observe?.(parts) ?? parts;
  } catch (error) {
    await closeNetworks();
    throw error;
  }
}

/** Requests the extended card if there is one; a caller that may not see it keeps the public one (spec 3.1.11). */
async function extend(
  { getExtendedAgentCard }: Operations<CallOptions>,
  access: AgentAccess,
  { extendedCard, credentials }: ClientOptions,
  call: CallOptions,
): Promise<void> {
  const isWanted = extendedCard ?? credentials !== undefined;
  if (!isWanted || access.card.capabilities?.extendedAgentCard !== true) return;
  try {
    const request = { $typeName: typeNames.GetExtendedAgentCardRequest, tenant: "" } as const;
    const card = await getExtendedAgentCard(request, call);
    // A card without interfaces cannot replace one that has some.
    if (card.supportedInterfaces.length > 0) access.replaceCard(card);
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
  }
}

/** An address that is not there, such as that of a variable that is not set, is no card either. */
function isCardObject(agent: AgentAddress): agent is AgentCard | JsonObject {
  return isObject(agent) && !(agent instanceof URL);
}

function isCard(agent: AgentCard | JsonObject): agent is AgentCard {
  return agent["$typeName"] === typeNames.AgentCard;
}

/** The caller's own transports, and the platform's for the remaining bindings. */
function mergeTransports(
  { transports = [] }: ClientOptions,
  ours: readonly TransportFactory[],
): readonly TransportFactory[] {
  const callerBindings = new Set(transports.map(({ binding }) => toBindingName(binding)));
  return [...transports, ...ours.filter(({ binding }) => !callerBindings.has(binding))];
}
