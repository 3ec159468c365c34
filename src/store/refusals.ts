import type { ContextValue, LogRecord, NewSend, NewTask, PushRegistration } from "../core/ports.js";
import type { Scope } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import { checkIndexedId, checkIndexedScope } from "../protocol/indexed-text.js";

// What every store checks before a write, and the error of a closed store.

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

// Limits of indexed text, the same for every store. The checks throw `invalidParams`.

export function checkNewTask({ scope, id, contextId, name }: NewTask): void {
  checkIndexedScope(scope);
  checkIndexedId("id", id);
  checkIndexedId("contextId", contextId);
  if (name !== undefined) checkIndexedId("name", name);
}

export function checkNewSend({ scope, messageId }: NewSend): void {
  checkIndexedScope(scope);
  checkIndexedId("messageId", messageId);
}

export function checkContextValue(scope: Scope, contextId: string, name: string): void {
  checkIndexedScope(scope);
  checkIndexedId("contextId", contextId);
  checkIndexedId("key", name);
}

export function checkRegistration({ config }: PushRegistration): void {
  checkIndexedId("id", config.id);
}

/** Size of a value of a context's state with its name, in UTF-8 bytes, as its limit counts it. */
export function sizeOfContextValue(name: string, { json }: ContextValue): number {
  return Buffer.byteLength(name) + Buffer.byteLength(json);
}
