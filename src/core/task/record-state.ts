import type { TaskState } from "../../protocol/model.js";
import type { LogRecord } from "../ports.js";

/** The state that a record sets, if any. */
export function stateOf(record: LogRecord): TaskState | undefined {
  if (record.kind !== "event" || record.event.payload.case !== "statusUpdate") return undefined;
  return record.event.payload.value.status?.state;
}
