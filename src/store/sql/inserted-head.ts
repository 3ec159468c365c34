import type { Head } from "../../core/ports.js";
import { isTerminal } from "../../protocol/states.js";
import { type NewTaskRow, pickScope } from "./rows.js";

/** The values that the database adds to a new task. */
export interface InsertedTask {
  readonly key: number;
  readonly incarnation: string;
  readonly holderLive: boolean;
}

/** The head of a task that was just inserted. */
export function insertedHead(row: NewTaskRow, { key, incarnation, holderLive }: InsertedTask): Head {
  const { id, contextId, scope, version, status, log, turnSeq } = row;
  return {
    key,
    id,
    contextId,
    scope: pickScope(scope),
    incarnation,
    seq: log?.seq ?? 0,
    epoch: 1,
    holder: insertedHolder(row),
    holderLive,
    state: status.state,
    statusTime: status.time,
    inboxPut: 0,
    turn: 1,
    turnSeq,
    wakeAt: insertedWake(row),
    version,
  };
}

/** The holder of an inserted task: none if its turn ends with the same write. */
export function insertedHolder({ holder, end }: NewTaskRow): string {
  return end === undefined ? holder : "";
}

/** The wake time of an inserted task that the same write parks. */
export function insertedWake({ status, end }: NewTaskRow): number | undefined {
  return isTerminal(status.state) ? undefined : end?.park?.wakeAt;
}
