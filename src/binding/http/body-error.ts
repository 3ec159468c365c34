import { A2AError } from "../../protocol/errors.js";

// The errors of reading a body, the same for every HTTP adapter.

export function bodyTooLarge(maxBytes: number): A2AError {
  return new A2AError(
    "contentTooLarge",
    `the request body is over the limit of ${maxBytes} bytes (jsonBodyMaxBytes, or contentMaxBytes if it is binary)`,
    { metadata: { maxBytes: String(maxBytes) } },
  );
}

export function bodyCutOff(cause?: unknown): A2AError {
  return new A2AError("invalidRequest", "the request body was cut off", { cause });
}
