import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { streamFrom } from "./async/steps.js";
import type { Operation, OperationName, ReplyOf, RequestOf, StreamItem } from "./operations.js";

/** A call on its way to its operation. Narrow by `operation` to get the type of `request`. */
export type InterceptedCall<C> = {
  readonly [K in OperationName]: {
    readonly operation: K;
    /** The request, decoded. */
    readonly request: RequestOf<K>;
    /** The context of the request: on a server its `ServerContext`, on a client its `CallOptions`. */
    readonly context: C;
  };
}[OperationName];

/** The result of an operation: one message, or the items of a stream. */
export type InterceptedReply = ReplyOf<OperationName> | AsyncIterable<StreamItem>;

/**
 * Wraps calls. `next` continues with the call, or with another call of the same operation, and resolves with its reply;
 * for a stream, before the first item. An interceptor may answer without `next`, and may throw an `A2AError`.
 */
export type Interceptor<C> = (
  call: InterceptedCall<C>,
  next: (call: InterceptedCall<C>) => Promise<InterceptedReply>,
) => Promise<InterceptedReply>;

/** The end of a chain: calls the operation itself. */
type End<C, R> = (request: AnyMessage, context: C) => R;

/** Interceptors in front of operations; the first one is the outermost. */
export interface Interception<C> {
  unary(operation: Operation, call: ArrivingCall<C>, end: End<C, Promise<AnyMessage>>): Promise<AnyMessage>;
  stream(
    operation: Operation,
    call: ArrivingCall<C>,
    end: End<C, AsyncIterable<StreamItem>>,
  ): AsyncIterable<StreamItem>;
}

interface ArrivingCall<C> {
  readonly request: AnyMessage;
  readonly context: C;
}

export function composeInterceptors<C>(interceptors: readonly Interceptor<C>[]): Interception<C> {
  // The types of request and reply follow from the operation, which stays the same along the chain.
  type Run = (request: AnyMessage, context: C) => Promise<unknown>;
  const run = ({ name }: Operation, { request, context }: ArrivingCall<C>, end: Run): Promise<unknown> => {
    type Next = Parameters<Interceptor<C>>[1];
    const last: Next = (call) => end(call.request, call.context) as Promise<InterceptedReply>;
    const chain = interceptors.reduceRight<Next>((next, each) => async (call) => each(call, next), last);
    return chain({ operation: name, request, context } as InterceptedCall<C>);
  };
  return {
    unary: (operation, call, end) => run(operation, call, end) as Promise<AnyMessage>,
    stream: (operation, call, end) => {
      const open = async (request: AnyMessage, context: C) => end(request, context);
      return streamFrom(() => run(operation, call, open) as Promise<AsyncIterable<StreamItem>>);
    },
  };
}
