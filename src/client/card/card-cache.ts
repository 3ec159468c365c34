import type { AgentCard } from "../../protocol/model.js";

/** A cached card. */
interface CachedCard {
  /** The card. */
  readonly card: AgentCard;
  /** Its `ETag`, for revalidation. */
  readonly etag: string;
}

/** Agent cards by URL. The client revalidates a cached card with its ETag before it uses it (spec 8.6). */
export interface CardCache {
  /** Returns the card last fetched from a URL; `undefined` without one. */
  get(url: string): CachedCard | undefined;
  /** Stores a card with its ETag. */
  set(url: string, entry: CachedCard): void;
}

/**
 * Creates a cache of at most `maxCards` cards, 100 by default, which evicts the least recently used card.
 *
 * @example
 * ```ts
 * const cardCache = createCardCache(1000);
 * const client = await Client.connect("https://agent.example", { cardCache });
 * ```
 */
export function createCardCache(maxCards = 100): CardCache {
  const cards = new Map<string, CachedCard>();
  return {
    get(url) {
      const entry = cards.get(url);
      if (entry !== undefined && cards.delete(url)) cards.set(url, entry);
      return entry;
    },
    set(url, entry) {
      cards.delete(url);
      cards.set(url, entry);
      for (const oldest of cards.keys()) {
        if (cards.size <= maxCards) break;
        cards.delete(oldest);
      }
    },
  };
}
