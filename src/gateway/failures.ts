import { CredentialsError } from "../client/connection.js";
import { A2AError, ConnectionError, type ErrorCode } from "../protocol/errors.js";

// What a caller of the gateway hears when a call of the gateway fails. What the agent says is passed on; where the agent is
// and how it is reached is the gateway's own business.

/** Whether a failure says that the agent is away, or that its card may have changed. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof A2AError)) return false;
  return error instanceof ConnectionError || error.code === "versionNotSupported" || foreignStatus(error) !== undefined;
}

/**
 * The failure as the callers of the gateway see it, when they have not left themselves. Whatever else is no `A2AError`
 * stays what it is, for admission to mask.
 */
export function publicFailure(error: unknown): unknown {
  // A client ends its calls so when it is closed.
  if (error instanceof DOMException && error.name === "AbortError") {
    return new A2AError("unavailable", "the gateway is shutting down", { cause: error, retryAfterMs: 1000 });
  }
  if (!(error instanceof A2AError)) return error;
  if (error instanceof CredentialsError) {
    return unavailable("the gateway could not get its credentials for the agent behind it", error);
  }
  if (error instanceof ConnectionError) {
    return error.written
      ? unavailable("the connection to the agent behind the gateway broke before it answered", error)
      : unavailable("the agent behind the gateway cannot be reached", error);
  }
  // The versions of the gateway are others than those of its agent.
  if (error.code === "versionNotSupported") {
    return unavailable("the agent behind the gateway does not take the version that its card names", error);
  }
  const status = foreignStatus(error);
  return status === undefined ? error : foreignAnswer(error, status);
}

function unavailable(message: string, cause: A2AError): A2AError {
  return new A2AError("unavailable", message, { cause, retryAfterMs: cause.retryAfterMs });
}

/** What a server at the agent's address says, and the caller can make something of. */
const telling: ReadonlySet<ErrorCode> = new Set([
  "unauthenticated",
  "permissionDenied",
  "resourceExhausted",
  "unavailable",
  "requestTimeout",
  "deadlineExceeded",
  "contentTooLarge",
  "internalError",
]);

function foreignAnswer(error: A2AError, status: string): A2AError {
  const { code, retryAfterMs, challenge } = error;
  const message = `the agent behind the gateway answered with HTTP status ${status}`;
  return new A2AError(telling.has(code) ? code : "invalidAgentResponse", message, {
    cause: error,
    retryAfterMs,
    challenge,
  });
}

// The client notes the status of an answer that no agent has given, only a server at its address.
function foreignStatus({ metadata }: A2AError): string | undefined {
  return metadata["httpStatus"];
}
