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

/** The client side of a binding, connected to one interface. `close` frees its connections. */
export type Transport = Operations<CallOptions> & { close?(): void | Promise<void> };

/** The two ways to call an operation, given its row in the table. */
export interface OperationCaller {
  /** Calls an operation with one reply. */
  unary(operation: Operation, request: AnyMessage, options: CallOptions): Promise<AnyMessage>;
  /** Calls an operation that streams. */
  stream(operation: Operation, request: AnyMessage, options: CallOptions): AsyncIterable<StreamItem>;
}

// Wide enough for the type of every operation: `Transport` types each operation, `Caller` does not.
type AnyCall = (request: AnyMessage, options?: CallOptions) => Promise<never> & AsyncIterable<never>;

const noOptions: CallOptions = {};

/** The interface's version lacks the operation. No request was made, so the error says nothing about the agent. */
export class MissingOperationError extends A2AError {}

/** The reply is in the form of another version than the one called. The agent has run the operation. */
export class OtherVersionError extends A2AError {}

export function missingOperation(
  { version }: { readonly version: string },
  { method }: Operation,
  binding: string,
): A2AError {
  const message = `${method} does not exist in version ${version} over ${binding}`;
  return new MissingOperationError("unsupportedOperation", message);
}

/** Builds a transport that calls every operation of the table through `caller`. */
export function createTransport(caller: OperationCaller): Operations<CallOptions> {
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

/**
 * Makes a stream that can be cancelled while it waits. `return()` aborts the signal passed to `open`, and `open` then
 * ends without an error. A plain generator handles `return()` only after its pending step.
 */
export function cancelable<T>(
  open: (leaveSignal: AbortSignal) => AsyncGenerator<T, void, undefined>,
): AsyncIterableIterator<T> {
  const leave = new AbortController();
  const items = open(leave.signal);
  const stream: AsyncIterableIterator<T> = {
    next: () => items.next(),
    return() {
      leave.abort();
      return items.return();
    },
    [Symbol.asyncIterator]: () => stream,
  };
  return stream;
}
