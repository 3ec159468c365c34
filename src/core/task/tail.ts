import type { StreamItem } from "../../protocol/operations.js";
import type { LogRecord } from "../ports.js";
import { eventId } from "./event-id.js";

// The latest records of a task and the stream items of its latest events, which readers in the process take without the
// store. Both are bounded.

const keepRecords = 512;
const maxBytes = 1 << 20;

/**
 * The latest records of a live task, so that its readers need no store. Bounded: a reader that falls behind reads the
 * store.
 */
export class Tail {
  #records: LogRecord[] = [];
  #bytes = 0;

  /** Adds records. Returns whether the limit of bytes has dropped all earlier ones. */
  push(records: readonly LogRecord[], bytes: number): boolean {
    const isFull = this.#bytes + bytes > maxBytes;
    if (isFull) {
      this.#records = [];
      this.#bytes = 0;
    }
    this.#bytes += bytes;
    for (const record of records) this.#records.push(record);
    if (this.#records.length > 2 * keepRecords) this.#records = this.#records.slice(-keepRecords);
    return isFull;
  }

  /** Records with `seq > after`; `undefined` when the tail no longer reaches back that far. */
  after(after: number): readonly LogRecord[] | undefined {
    const first = this.#records[0];
    if (first === undefined || first.seq > after + 1) return undefined;
    return this.#records.slice(after - first.seq + 1);
  }
}

type EventRecord = LogRecord & { readonly kind: "event" };

const maxItems = 64;

/**
 * The stream items of a live task's latest events, shared by its readers, so that each version encodes an event once.
 * Bounded: a reader that is further behind gets its own items.
 */
export class RecentItems {
  readonly #items: ({ readonly seq: number; readonly item: StreamItem } | undefined)[] = [];

  get(record: EventRecord, idPrefix: string): StreamItem {
    const slot = this.#items[record.seq % maxItems];
    if (slot?.seq === record.seq) return slot.item;
    const item = streamItem(record, idPrefix);
    this.#items[record.seq % maxItems] = { seq: record.seq, item };
    return item;
  }

  /** Drops all items once the tail has dropped their records. Otherwise large items would stay until the task ends. */
  clear(): void {
    this.#items.length = 0;
  }
}

/** The stream item of an event. */
export function streamItem({ event, seq }: EventRecord, idPrefix: string): StreamItem {
  return { response: event, id: eventId(idPrefix, seq) };
}
