import type { LogRecord } from "../ports.js";

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
