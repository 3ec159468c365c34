import { A2AError } from "../protocol/errors.js";

/** The error for a binary request message over `contentMaxBytes`. */
export function requestTooLarge(maxBytes: number): A2AError {
  return new A2AError("contentTooLarge", `the request is over the limit of ${maxBytes} bytes (contentMaxBytes)`, {
    metadata: { maxBytes: String(maxBytes) },
  });
}
