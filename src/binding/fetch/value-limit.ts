/** Shorter texts cannot hold too many values. */
export const minCheckedLength = 500_000;

/** Throws `contentTooLarge` when one of these texts, of `minCheckedLength` or more, has more JSON values than its limit of bytes allows. */
export async function assertValueLimit(texts: readonly string[], maxBytes: number): Promise<void> {
  // Few replies are so long, and a browser loads no more than it needs.
  const { assertFewReplyValues } = await import("../../protocol/codec/reply-values.js");
  for (const text of texts) assertFewReplyValues(text, maxBytes);
}
