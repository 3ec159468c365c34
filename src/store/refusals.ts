import type { LogRecord } from "../core/ports.js";
import { A2AError } from "../protocol/errors.js";

// What every store refuses.

/** The error of each call of a store that is closed. */
export function closedError(): A2AError {
  return new A2AError("unavailable", "the task store is closed");
}

/** Throws `internalError` unless the records follow the one with the number `after` without a gap. */
export function assertNumbered(records: readonly LogRecord[], after: number): void {
  const first = records[0]?.seq ?? after + 1;
  const last = records.at(-1)?.seq ?? after;
  if (first === after + 1 && last === after + records.length) return;
  throw new A2AError("internalError", `records ${first} to ${last} do not follow ${after} without a gap`);
}
