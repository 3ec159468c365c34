import type { A2AError } from "../errors.js";
import { replyTooLarge } from "./reply-too-large.js";
import { JsonValueCounter } from "./value-count.js";

/** Most values and names in a reply. In memory they may take a hundred times the bytes that `replyMaxBytes` limits. */
export function maxReplyValues(replyMaxBytes: number): number {
  return Math.max(Math.floor(replyMaxBytes / 32), 250_000);
}

export function tooManyReplyValues(maxValues: number, cause: unknown): A2AError {
  return replyTooLarge(
    `the agent's answer has more than ${maxValues} JSON values and names (one for 32 bytes of replyMaxBytes, at least 250000)`,
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
