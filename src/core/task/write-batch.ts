import type { AppendResult, Park } from "../ports.js";
import type { Draft } from "./draft.js";
import { sizeOfRecord } from "./record-size.js";

/** What a write does beside appending its records. */
export interface Extras {
  readonly end?: { readonly inboxPut: number; readonly park?: Park | undefined } | undefined;
  readonly takes?: readonly string[] | undefined;
  readonly claim?: { readonly turn: number } | undefined;
}

/** Records that travel in one write. */
export interface WriteBatch {
  readonly drafts: Draft[];
  bytes: number;
  extras: Extras | undefined;
  /** Takes no further records. */
  readonly alone: boolean;
  settled: { readonly resolve: (result: AppendResult) => void; readonly reject: (reason: unknown) => void } | undefined;
  promise: Promise<AppendResult> | undefined;
}

/** A batch that others may join, without a record yet. */
export function openBatch(): WriteBatch {
  return { drafts: [], bytes: 0, extras: undefined, alone: false, settled: undefined, promise: undefined };
}

/** A batch of its own. */
export function exclusiveBatch(drafts: readonly Draft[], extras: Extras): WriteBatch {
  const batch: WriteBatch = { ...openBatch(), extras, alone: true };
  join(batch, drafts);
  return batch;
}

/** Adds records to a batch, and counts them. */
export function join(batch: WriteBatch, drafts: readonly Draft[]): void {
  for (const draft of drafts) {
    batch.drafts.push(draft);
    batch.bytes += sizeOfRecord(draft);
  }
}

/** The promise of a batch is made on request: a chunk of an artifact never needs it. */
export function committed(batch: WriteBatch): Promise<AppendResult> {
  batch.promise ??= new Promise((resolve, reject) => {
    batch.settled = { resolve, reject };
  });
  return batch.promise;
}
