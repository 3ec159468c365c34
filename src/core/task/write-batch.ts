import type { AppendResult, LogRecord, Park } from "../ports.js";

/** A record that has no number yet. */
export type Draft = Unnumbered<LogRecord>;
type Unnumbered<R> = R extends LogRecord ? Omit<R, "seq"> : never;

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
export function exclusiveBatch(drafts: readonly Draft[], bytes: number, extras: Extras): WriteBatch {
  return { drafts: [...drafts], bytes, extras, alone: true, settled: undefined, promise: undefined };
}

/** The promise of a batch is made on request: a chunk of an artifact never needs it. */
export function committed(batch: WriteBatch): Promise<AppendResult> {
  batch.promise ??= new Promise((resolve, reject) => {
    batch.settled = { resolve, reject };
  });
  return batch.promise;
}
