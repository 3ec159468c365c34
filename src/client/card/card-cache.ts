import type { AgentCard } from "../../protocol/model.js";

/** A card as fetched. */
interface CachedCard {
  /** The card. */
  readonly card: AgentCard;
  /** Its `ETag`, to ask whether it is unchanged. */
  readonly etag: string;
}

/** Agent cards by URL. The agent is asked each time whether its card is unchanged (spec 8.6). */
export interface CardCache {
  /** The card last fetched from a URL; `undefined` if there is none. */
  get(url: string): CachedCard | undefined;
  /** Keeps a card with its ETag. */
  set(url: string, entry: CachedCard): void;
}

/**
 * A cache of at most `maxCards` cards, by default 100; the least recently used one is evicted.
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
