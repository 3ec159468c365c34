import type { LogRecord, NewSend, NewTask, PushRegistration } from "../core/ports.js";
import { A2AError } from "../protocol/errors.js";
import { checkIndexedId, checkIndexedScope } from "../protocol/indexed-text.js";

// Checks that every store makes before a write, and the error of a closed store.

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

export function checkNewTask({
  scope,
  id,
  contextId,
  name,
}: Pick<NewTask, "scope" | "id" | "contextId" | "name">): void {
  checkIndexedScope(scope);
  checkIndexedId("id", id);
  checkIndexedId("contextId", contextId);
  if (name !== undefined) checkIndexedId("name", name);
}

export function checkNewSend({ scope, messageId }: Pick<NewSend, "scope" | "messageId">): void {
  checkIndexedScope(scope);
  checkIndexedId("messageId", messageId);
}

export function checkContextValue({
  scope,
  contextId,
  name,
}: Pick<NewTask, "scope" | "contextId"> & { readonly name: string }): void {
  checkIndexedScope(scope);
  checkIndexedId("contextId", contextId);
  checkIndexedId("key", name);
}

export function checkRegistration({ config }: Pick<PushRegistration, "config">): void {
  checkIndexedId("id", config.id);
}
