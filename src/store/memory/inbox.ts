import type { InboxEntry } from "../../core/ports.js";
import { sizeOfJson, sizeOfMessage } from "../../protocol/check/size.js";

/**
 * Returns the inbox with the entry added, the same inbox when the entry has no effect, or `undefined` when it is full.
 * Cancels come first, the rest in order of arrival.
 */
export function putEntry(
  inbox: readonly InboxEntry[],
  entry: InboxEntry,
  maxMessages: number,
): readonly InboxEntry[] | undefined {
  if (inbox.some(({ id }) => id === entry.id)) return inbox;
  const alike = inbox.filter(({ kind }) => kind === entry.kind).length;
  if (entry.kind === "message") return alike < maxMessages ? [...inbox, entry] : undefined;
  if (alike > 0) return inbox;
  return entry.kind === "cancel" ? [entry, ...inbox] : [...inbox, entry];
}

export function withoutEntries(inbox: readonly InboxEntry[], ids: readonly string[]): readonly InboxEntry[] {
  return inbox.length === 0 || ids.length === 0 ? inbox : inbox.filter(({ id }) => !ids.includes(id));
}

/** Overhead of an entry beyond its content. */
const ownBytes = 256;

/** Approximate size of an entry in bytes. */
export function sizeOfEntry({ send, wake }: InboxEntry): number {
  if (send === undefined) return ownBytes + sizeOfJson(wake);
  const { message, metadata, extensions, principal } = send;
  return ownBytes + sizeOfMessage(message) + sizeOfJson(metadata) + sizeOfJson([...extensions]) + sizeOfJson(principal);
}
