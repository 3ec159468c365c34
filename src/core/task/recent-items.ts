import type { StreamItem } from "../../protocol/operations.js";
import type { LogRecord } from "../ports.js";
import { eventId } from "./event-id.js";

type EventRecord = LogRecord & { readonly kind: "event" };

/**
 * The stream items of a live task's latest events, shared by its readers, so that each version encodes an event once.
 * Bounded: a reader that is further behind gets its own items.
 */
export interface RecentItems {
  of(record: EventRecord, idPrefix: string): StreamItem;
  /** Drops all items once the tail has dropped their records. Otherwise large items would stay until the task ends. */
  clear(): void;
}

const maxItems = 64;

export function createRecentItems(): RecentItems {
  const items: ({ readonly seq: number; readonly item: StreamItem } | undefined)[] = [];
  return {
    of(record, idPrefix) {
      const slot = items[record.seq % maxItems];
      if (slot?.seq === record.seq) return slot.item;
      const item = streamItem(record, idPrefix);
      items[record.seq % maxItems] = { seq: record.seq, item };
      return item;
    },
    clear() {
      items.length = 0;
    },
  };
}

/** The stream item of an event. */
export function streamItem({ event, seq }: EventRecord, idPrefix: string): StreamItem {
  return { response: event, id: eventId(idPrefix, seq) };
}
