import type { NewSend, NewTask, PushRegistration } from "../core/ports.js";
import { checkIndexedId, checkIndexedScope } from "../protocol/indexed-text.js";

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
