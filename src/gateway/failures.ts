import { CredentialsError } from "../client/connection.js";
import { readForeignStatus } from "../client/failures.js";
import { isReplyTooLarge } from "../protocol/codec/reply-too-large.js";
import { A2AError, ConnectionError, errorTable } from "../protocol/errors.js";

// The errors that callers of the gateway get when one of its own calls fails. The agent's errors are passed on; the
// agent's address and transport are not revealed.

/** Whether a failure means that the agent is down, or that its card may have changed. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof A2AError)) return false;
  return (
    error instanceof ConnectionError || error.code === "versionNotSupported" || readForeignStatus(error) !== undefined
  );
}

/** Whether the gateway has sent nothing of a failed call. */
export function isUnsent(error: unknown): boolean {
  return error instanceof CredentialsError || (error instanceof ConnectionError && !error.written);
}

/**
 * The error for the gateway's callers, unless they have left. Anything but an `A2AError` stays as it is, for
 * admission to mask.
 */
export function toCallerError(error: unknown): unknown {
  // A client ends its calls with this when it is closed.
  if (error instanceof DOMException && error.name === "AbortError") {
    return new A2AError("unavailable", "the gateway is shutting down", { cause: error, retryAfterMs: 1000 });
  }
  if (!(error instanceof A2AError)) return error;
  if (error instanceof CredentialsError) {
    return unavailable("the gateway could not get its credentials for the upstream agent", error);
  }
  if (error instanceof ConnectionError) {
    return error.written
      ? unavailable("the connection to the agent behind the gateway broke before it answered", error)
      : unavailable("the agent behind the gateway cannot be reached", error);
  }
  // The gateway's versions differ from those of its agent.
  if (error.code === "versionNotSupported") {
    return unavailable("the agent behind the gateway refuses the version that its card lists", error);
  }
  if (isReplyTooLarge(error)) {
    const message = "the answer of the agent behind the gateway is over the gateway's limit (replyMaxBytes)";
    return new A2AError("invalidAgentResponse", message, { cause: error });
  }
  const status = readForeignStatus(error);
  if (status === undefined) return error;
  const { code, retryAfterMs, challenge } = error;
  return new A2AError(
    errorTable[code].public ? code : "invalidAgentResponse",
    `the agent behind the gateway answered with HTTP status ${status}`,
    { cause: error, retryAfterMs, challenge },
  );
}

function unavailable(message: string, cause: A2AError): A2AError {
  return new A2AError("unavailable", message, { cause, retryAfterMs: cause.retryAfterMs });
}
