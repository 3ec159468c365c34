import type { A2AError } from "../errors.js";
import { replyTooLarge } from "./reply-too-large.js";
import { JsonValueCounter } from "./value-count.js";

/** The most values and names in a reply. With a limit of bytes alone, a peer could fill the heap with a hundred times as much. */
export function maxReplyValues(replyMaxBytes: number): number {
  return Math.max(Math.floor(replyMaxBytes / 32), 250_000);
}

export function tooManyReplyValues(maxValues: number, cause: unknown): A2AError {
  return replyTooLarge(
    `the agent's answer has more than ${maxValues} JSON values and names (a 32nd of replyMaxBytes)`,
    cause,
  );
}

/** Throws `contentTooLarge` for the text of a reply with more JSON values than its limit of bytes allows. */
export function assertFewReplyValues(text: string, replyMaxBytes: number): void {
  const maxValues = maxReplyValues(replyMaxBytes);
  try {
    new JsonValueCounter(maxValues).add(new TextEncoder().encode(text));
  } catch (cause) {
    throw tooManyReplyValues(maxValues, cause);
  }
}
