import type { AppendRow, ConversationWriteRow, LogRow, NewTaskRow } from "../../../src/store/sql/rows.js";

const bytes = new Uint8Array([1, 2, 3]);
export const alice = { agent: "", tenant: "", owner: "alice" };

export function logRow(seq: number, count = 1): LogRow {
  return { seq, count, format: 1, bytes };
}

/** Two entries for the context `c`, one of them without its content. */
export function conversationRow(changes: Partial<ConversationWriteRow> = {}): ConversationWriteRow {
  const entry = { kind: 0, id: "m", taskId: "t", at: 1_000, bytes: 3, payload: { format: 1, bytes } };
  const entries = [entry, { ...entry, kind: 2, payload: undefined }];
  return { scope: alice, contextId: "c", usedAt: 1_000, expiresAt: undefined, maxEntries: 100, entries, ...changes };
}

/** A SUBMITTED task with one record, held by `here`. */
export function taskRow(id: string, changes: Partial<NewTaskRow> = {}): NewTaskRow {
  const birth = { id, contextId: "c", scope: alice, holder: "here", version: "1.0", name: undefined };
  const body = { log: logRow(1), status: { state: 1, time: 1_000 }, snapshot: undefined, end: undefined };
  return { ...birth, ...body, takes: [], turnSeq: 1, ...changes };
}

/** Appends one record after a position. */
export function appendRow(
  context: Pick<AppendRow, "key" | "epoch" | "seq">,
  changes: Partial<AppendRow> = {},
): AppendRow {
  const { key, epoch, seq } = context;
  const body = { log: logRow(seq + 1), status: undefined, snapshot: undefined, end: undefined, claim: undefined };
  return { key, epoch, seq, ...body, takes: [], turnSeq: 0, ...changes };
}

/** The members of a write that completes a task with record `seq` and releases it. */
export function completion(seq: number, time: number): Pick<AppendRow, "status" | "snapshot" | "end"> {
  return { status: { state: 3, time }, snapshot: { seq, format: 1, bytes }, end: { inboxPut: 0 } };
}
