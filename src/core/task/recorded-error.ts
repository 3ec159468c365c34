import { type A2AError, ownReason } from "../../protocol/errors.js";
import type { RecordedError } from "../ports.js";

/** An error in the form that a record stores. */
export function recordedError(error: A2AError): RecordedError {
  const { code, message, violations, metadata, retryAfterMs } = error;
  return { code, message, violations, ...ownReason(error), metadata, retryAfterMs };
}
