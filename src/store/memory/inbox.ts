import type { InboxEntry } from "../../core/ports.js";
import { sizeOfJson, sizeOfMessage } from "../../protocol/check/size.js";

/**
 * The inbox with one entry more, the same inbox when the entry has no effect, `undefined` when it is full. Cancels come
 * first, all else in the order of its coming.
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

/** What an entry takes beside its content. */
const ownBytes = 256;

/** About how many bytes an entry takes. */
export function sizeOfEntry({ send, wake }: InboxEntry): number {
  if (send === undefined) return ownBytes + sizeOfJson(wake);
  return ownBytes + sizeOfMessage(send.message) + sizeOfJson(send.metadata) + sizeOfJson([...send.extensions]);
}
