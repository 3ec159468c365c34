import { A2AError } from "../../protocol/errors.js";
import type { AgentCard } from "../../protocol/model.js";
import { parseVersion } from "../../protocol/service-parameters.js";
import { isListed } from "../../version/traits.js";
import { versionTable } from "../../version/versions.js";
import { type DiscoveryOptions, type FoundCard, findCard } from "./discovery.js";

/** What a client may call. */
export interface SpokenProtocols {
  /** Versions that may be used. Default: any that the client knows. */
  readonly versions: readonly string[] | undefined;
  /** Whether a card lists an interface that this client can and may call. */
  isCallable(card: AgentCard): boolean;
}

/**
 * Finds an agent's card. If it lists nothing callable, the card is requested in each version that cards do not list: an
 * agent shows those interfaces to callers that declare the version. If none is callable the first card is used. Throws
 * what `findCard` throws.
 */
export async function findSpokenCard(
  urls: readonly string[],
  options: DiscoveryOptions,
  { versions = versionTable.map(({ name }) => name), isCallable }: SpokenProtocols,
): Promise<FoundCard> {
  const firstCard = await findCard(urls, options);
  if (isCallable(firstCard.card)) return firstCard;
  const listedVersions = firstCard.card.supportedInterfaces.map(({ protocolVersion }) => parseVersion(protocolVersion));
  for (const version of versions.filter((each) => !isListed(each) && !listedVersions.includes(each))) {
    const versionCard = await findCard([firstCard.url], { ...options, version }).catch(ignoreAnswer);
    if (versionCard !== undefined && isCallable(versionCard.card)) return versionCard;
  }
  return firstCard;
}

// An agent without such a card may answer in any way.
function ignoreAnswer(error: unknown): undefined {
  if (!(error instanceof A2AError)) throw error;
}
