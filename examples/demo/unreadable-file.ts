/** Content that does not match its media type. The message names the line and is safe to show to the sender. */
export class UnreadableFile extends Error {
  override readonly name = "UnreadableFile";
}
