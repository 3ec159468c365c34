import { A2AError } from "../errors.js";

const limit = "replyMaxBytes";

/** The error for an answer that is over the caller's own limit. */
export function replyTooLarge(message: string, cause?: unknown): A2AError {
  return new A2AError("contentTooLarge", message, { cause, metadata: { limit } });
}

/** Whether an error is one of these: an agent's own names no limit of its caller. */
export function isReplyTooLarge({ code, metadata }: A2AError): boolean {
  return code === "contentTooLarge" && metadata["limit"] === limit;
}
