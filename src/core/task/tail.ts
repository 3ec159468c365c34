import type { StreamItem } from "../../protocol/operations.js";
import type { LogRecord } from "../ports.js";
import { eventId } from "./event-id.js";

// What readers in the process of a task take without the store: its latest records, and the stream items of its latest
// events. Both are bounded.

/**
 * The latest records of a live task, so that its readers need no store. Bounded: a reader that falls behind reads the
 * store.
 */
export interface Tail {
  /** Adds records. Returns whether the limit of bytes has dropped all earlier ones. */
  push(records: readonly LogRecord[], bytes: number): boolean;
  /** Records with `seq > after`; `undefined` when the tail no longer reaches back that far. */
  after(after: number): readonly LogRecord[] | undefined;
}

const keepRecords = 512;
const maxBytes = 1 << 20;

export function createTail(): Tail {
  let records: LogRecord[] = [];
  let size = 0;
  return {
    push(more, bytes) {
      const isFull = size + bytes > maxBytes;
      if (isFull) {
        records = [];
        size = 0;
      }
      size += bytes;
      for (const record of more) records.push(record);
      if (records.length > 2 * keepRecords) records = records.slice(-keepRecords);
      return isFull;
    },
    after(after) {
      const first = records[0];
      if (first === undefined || first.seq > after + 1) return undefined;
      return records.slice(after - first.seq + 1);
    },
  };
}

type EventRecord = LogRecord & { readonly kind: "event" };

/**
 * The stream items of a live task's latest events, shared by its readers, so that each version encodes an event once.
 * Bounded: a reader that is further behind gets its own items.
 */
export interface RecentItems {
  get(record: EventRecord, idPrefix: string): StreamItem;
  /** Drops all items once the tail has dropped their records. Otherwise large items would stay until the task ends. */
  clear(): void;
}

const maxItems = 64;

export function createRecentItems(): RecentItems {
  const items: ({ readonly seq: number; readonly item: StreamItem } | undefined)[] = [];
  return {
    get(record, idPrefix) {
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
