import type { A2AError } from "../../protocol/errors.js";
import type { RecordedError } from "../ports.js";

/** An error in the form that a record stores. */
export function recordedError({ code, message, violations, metadata, retryAfterMs }: A2AError): RecordedError {
  return { code, message, violations, metadata, retryAfterMs };
}
