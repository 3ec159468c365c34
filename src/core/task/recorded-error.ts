import { A2AError, ownReason } from "../../protocol/errors.js";
import type { RecordedError } from "../ports.js";

/** An error in the form that a record stores. */
export function recordOfError(error: A2AError): RecordedError {
  const { code, message, violations, metadata, retryAfterMs } = error;
  return { code, message, violations, ...ownReason(error), metadata, retryAfterMs };
}

/** The error that was stored. */
export function errorOfRecord({ code, message, ...rest }: RecordedError): A2AError {
  const { violations, reason, domain, metadata, retryAfterMs } = rest;
  return new A2AError(code, message, { violations, reason, domain, metadata, retryAfterMs });
}
