import type { Message as AnyMessage } from "@bufbuild/protobuf";
import type { CallOptions } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import {
  type Operation,
  type OperationName,
  type Operations,
  operations,
  type StreamItem,
} from "../protocol/operations.js";

/** The client end of a binding at one interface. `close` frees its connections. */
export type Transport = Operations<CallOptions> & { close?(): void | Promise<void> };

/** The two ways to call an operation by its row of the table. */
export interface Caller {
  unary(operation: Operation, request: AnyMessage, options: CallOptions): Promise<AnyMessage>;
  stream(operation: Operation, request: AnyMessage, options: CallOptions): AsyncIterable<StreamItem>;
}

// What every operation's type has room for: the caller is not typed by operation, the transport is.
type AnyCall = (request: AnyMessage, options?: CallOptions) => Promise<never> & AsyncIterable<never>;

const noOptions: CallOptions = {};

/** An operation that the version of an interface does not have. No request was made, so it says nothing of the agent. */
export class MissingOperationError extends A2AError {}

/** An answer in the form of another version than the one that was called; the agent has done what it was asked. */
export class OtherVersionError extends A2AError {}

export function missingIn({ version }: { readonly version: string }, { method }: Operation, binding: string): A2AError {
  const message = `${method} does not exist in version ${version} over ${binding}`;
  return new MissingOperationError("unsupportedOperation", message);
}

/** Makes a transport: every operation of the table, called through `caller`. */
export function createTransport(caller: Caller): Operations<CallOptions> {
  const calls = operations.map((operation) => {
    const call = (
      request: AnyMessage,
      options: CallOptions = noOptions,
    ): Promise<AnyMessage> | AsyncIterable<StreamItem> =>
      operation.streams ? caller.stream(operation, request, options) : caller.unary(operation, request, options);
    return [operation.name, call as AnyCall] as const;
  });
  return Object.fromEntries(calls) as Record<OperationName, AnyCall>;
}
