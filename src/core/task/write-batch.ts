import type { AppendResult, Park } from "../ports.js";
import type { Draft } from "./draft.js";
import { sizeOfRecord } from "./record-size.js";
import type { Write } from "./write.js";

/** What a write does besides appending its records. */
export interface WriteExtras {
  readonly end?: { readonly inboxPut: number; readonly park?: Park | undefined } | undefined;
  readonly takes?: readonly string[] | undefined;
  readonly claim?: { readonly turn: number } | undefined;
}

/** Records that share one write. */
export interface WriteBatch {
  readonly drafts: Draft[];
  bytes: number;
  extras: WriteExtras | undefined;
  /** Accepts no further records. */
  readonly alone: boolean;
  /** Set once the records are numbered. */
  write: Write | undefined;
  resolvers:
    | { readonly resolve: (result: AppendResult) => void; readonly reject: (reason: unknown) => void }
    | undefined;
  promise: Promise<AppendResult> | undefined;
}

/** An empty batch that others may join. */
export function openBatch(): WriteBatch {
  return {
    drafts: [],
    bytes: 0,
    extras: undefined,
    alone: false,
    write: undefined,
    resolvers: undefined,
    promise: undefined,
  };
}

/** A batch that nothing else may join. */
export function exclusiveBatch(drafts: readonly Draft[], extras: WriteExtras): WriteBatch {
  const batch: WriteBatch = { ...openBatch(), extras, alone: true };
  join(batch, drafts);
  return batch;
}

/** Adds records to a batch and counts their size. */
export function join(batch: WriteBatch, drafts: readonly Draft[]): void {
  for (const draft of drafts) {
    batch.drafts.push(draft);
    batch.bytes += sizeOfRecord(draft);
  }
}

/** Creates the batch's promise on demand: an artifact chunk never needs it. */
export function promiseOf(batch: WriteBatch): Promise<AppendResult> {
  batch.promise ??= new Promise((resolve, reject) => {
    batch.resolvers = { resolve, reject };
  });
  return batch.promise;
}
