import { A2AError } from "../protocol/errors.js";
import type { OperationName } from "../protocol/operations.js";

// Errors of the codecs of every version.

/** Throws `unsupportedOperation` for an operation that a version lacks. */
export function throwMissing(name: OperationName): never {
  throw new A2AError("unsupportedOperation", `this version of the protocol has no ${name}`);
}

export function unreadableReply(operation: OperationName, reason: string): A2AError {
  return new A2AError("invalidAgentResponse", `the agent's answer to ${operation} cannot be read: ${reason}`);
}

export function unreadableEvent(reason: string): A2AError {
  return new A2AError("invalidAgentResponse", `an event cannot be read: ${reason}`);
}
