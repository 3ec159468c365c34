import { type Selectable, sql } from "kysely";
import type { Head } from "../../core/ports.js";
import type { DbContext } from "./dialect.js";
import { pickScope } from "./rows.js";
import type { TasksTable } from "./schema.js";

const columns = [
  "t.key",
  "t.id",
  "t.agent",
  "t.tenant",
  "t.owner",
  "t.context_id",
  "t.incarnation",
  "t.version",
  "t.seq",
  "t.epoch",
  "t.holder",
  "t.state",
  "t.status_time",
  "t.inbox_put",
  "t.turn",
  "t.turn_seq",
  "t.wake_at",
  "t.compacted",
] as const;

type HeadColumn = (typeof columns)[number] extends `t.${infer Name}` ? Name : never;

/** A row of `selectHeads`. */
export type HeadRow = Pick<Selectable<TasksTable>, HeadColumn> & {
  readonly expires_at: number | null;
  readonly now: number;
};

/** Selects heads and whether their holders are live. Tasks are `t`, instances `i`. */
export function selectHeads({ db, dialect }: DbContext) {
  return db
    .selectFrom("trivium_tasks as t")
    .leftJoin("trivium_instances as i", "i.name", "t.holder")
    .select([...columns, "i.expires_at", sql<number>`${dialect.now()}`.as("now")]);
}

export function headFrom(row: HeadRow): Head {
  return {
    key: row.key,
    id: row.id,
    contextId: row.context_id,
    scope: pickScope(row),
    incarnation: row.incarnation,
    seq: row.seq,
    epoch: row.epoch,
    holder: row.holder,
    holderLive: row.holder !== "" && row.expires_at !== null && row.now < row.expires_at,
    state: row.state,
    statusTime: row.status_time,
    inboxPut: row.inbox_put,
    turn: row.turn,
    turnSeq: row.turn_seq,
    wakeAt: row.wake_at ?? undefined,
    version: row.version,
  };
}
