import { holderOf, wakeOf } from "../sql/inserted-head.js";
import type { AppendRow, ConversationWriteRow, LogRow, NewTaskRow, SnapshotRow, StatusRow } from "../sql/rows.js";
import { appendColumns, createColumns, entryColumns } from "./flush-sql.js";

type Cell = string | number | null;
type AppendCells = Readonly<Record<keyof typeof appendColumns, Cell>>;
type CreateCells = Readonly<Record<keyof typeof createColumns, Cell>>;
type EntryCells = Readonly<Record<keyof typeof entryColumns, Cell>>;

/** A new task of a flush, with the values that the database does not supply. */
export interface InsertRow {
  readonly row: NewTaskRow;
  readonly incarnation: string;
}

export interface FlushRows {
  /** Sorted by key, each key once: rows are locked in this order. */
  readonly appends: readonly AppendRow[];
  readonly inserts: readonly InsertRow[];
  /** Entries that belong to neither. */
  readonly conversations: readonly ConversationWriteRow[];
}

/** The parameters of a flush statement before the shard and the time: see `flushText`. */
export function flushValues({ appends, inserts, conversations }: FlushRows): readonly unknown[] {
  const payloads = new Payloads();
  const takes: string[] = [];
  const appendCells = appends.map((row) => cellsOfAppend(row, payloads, takes));
  const createCells = inserts.map((insert) => cellsOfInsert(insert, payloads));
  const entryCells = [
    ...appends.flatMap(({ key, conversation }) => cellsOfEntries(conversation, payloads, { key })),
    ...inserts.flatMap(({ row: { id, conversation } }) => cellsOfEntries(conversation, payloads, { id })),
    ...conversations.flatMap((conversation) => cellsOfEntries(conversation, payloads)),
  ];
  return [
    ...columnsOf(appendColumns, appendCells),
    ...columnsOf(createColumns, createCells),
    ...columnsOf(entryColumns, entryCells),
    takes,
    payloads.concat(),
  ];
}

/** The concatenated payloads of a flush, which the driver sends as they are. */
class Payloads {
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  /** Returns the payload's 1-based offset. */
  add(bytes: Uint8Array): number {
    const at = this.#length + 1;
    this.#parts.push(bytes);
    this.#length += bytes.length;
    return at;
  }

  concat(): Uint8Array {
    return Buffer.concat(this.#parts, this.#length);
  }
}

function cellsOfAppend(row: AppendRow, payloads: Payloads, takes: string[]): AppendCells {
  const { key, epoch, seq, claim, end } = row;
  // An entry named twice is taken once.
  const entryIds = [...new Set(row.takes)];
  const from = takes.length + 1;
  takes.push(...entryIds);
  return {
    key,
    epoch,
    seq,
    to_seq: row.log?.seq ?? seq,
    ...cellsOfBody(row, payloads),
    ...cellsOfStatus(row.status, payloads),
    end_put: end?.inboxPut ?? null,
    wake_at: end?.park?.wakeAt ?? null,
    claim_turn: claim?.turn ?? null,
    claim_holder: claim?.holder ?? null,
    take_from: entryIds.length === 0 ? null : from,
    take_to: entryIds.length === 0 ? null : takes.length,
  };
}

function cellsOfInsert({ row, incarnation }: InsertRow, payloads: Payloads): CreateCells {
  const { id, contextId, scope, name, version, status } = row;
  return {
    id,
    context_id: contextId,
    agent: scope.agent,
    tenant: scope.tenant,
    owner: scope.owner,
    name: name ?? null,
    incarnation,
    holder: holderOf(row),
    version,
    ...cellsOfBody(row, payloads),
    ...cellsOfStatus(status, payloads),
    seq: row.log?.seq ?? 0,
    turn_seq: row.turnSeq,
    wake_at: wakeOf(row) ?? null,
  };
}

function cellsOfStatus(status: StatusRow | undefined, payloads: Payloads) {
  const summary = status?.summary;
  return {
    state: status?.state ?? null,
    status_time: status?.time ?? null,
    summary_at: summary === undefined ? null : payloads.add(summary),
    summary_length: summary?.length ?? null,
  };
}

/** `of`: the append or the creation that they come with. */
function cellsOfEntries(
  write: ConversationWriteRow | undefined,
  payloads: Payloads,
  of: { readonly key?: number; readonly id?: string } = {},
): readonly EntryCells[] {
  if (write === undefined) return [];
  const { scope, contextId, maxEntries, usedAt, expiresAt, entries } = write;
  return entries.map(({ kind, at, taskId, id, bytes, payload }) => ({
    of_key: of.key ?? null,
    of_id: of.id ?? null,
    agent: scope.agent,
    tenant: scope.tenant,
    owner: scope.owner,
    context_id: contextId,
    max_entries: maxEntries,
    used_at: usedAt,
    expires_at: expiresAt ?? null,
    kind,
    at,
    task_id: taskId,
    item_id: id,
    bytes,
    format: payload?.format ?? 0,
    entry_at: payload === undefined ? null : payloads.add(payload.bytes),
    entry_length: payload?.bytes.length ?? null,
  }));
}

interface Body {
  readonly log: LogRow | undefined;
  readonly snapshot: SnapshotRow | undefined;
  readonly turnSeq: number;
}

function cellsOfBody({ log, snapshot, turnSeq }: Body, payloads: Payloads) {
  return {
    log_count: log?.count ?? null,
    log_format: log?.format ?? null,
    log_at: log === undefined ? null : payloads.add(log.bytes),
    log_length: log?.bytes.length ?? null,
    snap_seq: snapshot?.seq ?? null,
    snap_format: snapshot?.format ?? null,
    snap_at: snapshot === undefined ? null : payloads.add(snapshot.bytes),
    snap_length: snapshot?.bytes.length ?? null,
    turn_seq: turnSeq === 0 ? null : turnSeq,
  };
}

function columnsOf<Name extends string>(
  columns: Readonly<Record<Name, string>>,
  rows: readonly Readonly<Record<Name, Cell>>[],
): unknown[] {
  const names = Object.keys(columns) as Name[];
  return names.map((name) => {
    const cells = rows.map((row) => row[name]);
    // The driver escapes each element, which numbers do not need.
    return columns[name] === "text" ? cells : `{${cells.map((cell) => cell ?? "null").join(",")}}`;
  });
}
