import { A2AError } from "../protocol/errors.js";
import type { OperationName } from "../protocol/operations.js";

// Errors of the codecs of every version.

/** Throws `unsupportedOperation` for an operation that a version lacks. */
export function missing(name: OperationName): never {
  throw new A2AError("unsupportedOperation", `this version of the protocol has no ${name}`);
}
