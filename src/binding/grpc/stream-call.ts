import {
  type Client,
  InterceptingCall,
  type Interceptor,
  type Metadata,
  type ServiceError,
  type StatusObject,
  status,
} from "@grpc/grpc-js";
import { same } from "./method.js";

/** A streaming call under way. Its messages come one at a time, each asked for by `read`. */
export interface OpenCall {
  read(): void;
  cancel(): void;
  /** Whom the call has reached; its target, or `unknown`, before it has reached anybody. */
  getPeer(): string;
}

/** Who hears what comes of a streaming call. */
export interface CallListener {
  /** The message that was asked for. */
  onMessage(message: Uint8Array): void;
  /** All messages were heard. `error`: how the call failed, if it did. Nothing comes behind this. */
  onEnd(error: ServiceError | undefined, call: OpenCall): void;
}

/** What a streaming call sends. */
export interface StreamRequest {
  readonly path: string;
  readonly message: Buffer;
  readonly metadata: Metadata;
  /** When the call is over at the latest, in milliseconds since 1970. */
  readonly deadline?: number | undefined;
}

/**
 * Begins a streaming call. Messages are taken where grpc-js has them first, by an interceptor: the `Readable` that it makes
 * of a call stands by unread, since passing an event through costs more than decoding the event.
 */
export function callStreaming(client: Client, request: StreamRequest, listener: CallListener): OpenCall {
  const { path, message, metadata, deadline } = request;
  let read = (): void => {};
  const interceptors: Interceptor[] = [
    (options, next) => {
      const below = next(options);
      read = () => below.startRead();
      return new InterceptingCall(below, { start: (sent, _, start) => start(sent, heard) });
    },
  ];
  // Everything ends here. grpc-js knows that by the first function, which takes no second one to hand on with.
  const heard = {
    onReceiveMetadata(_metadata: Metadata): void {},
    onReceiveMessage: (bytes: Uint8Array): void => listener.onMessage(bytes),
    onReceiveStatus: (outcome: StatusObject): void => listener.onEnd(failureOf(outcome), stream),
  };
  const limits = deadline === undefined ? { interceptors } : { interceptors, deadline };
  const call = client.makeServerStreamRequest(path, same, same, message, metadata, limits);
  const stream: OpenCall = { read: () => read(), cancel: () => call.cancel(), getPeer: () => call.getPeer() };
  return stream;
}

function failureOf({ code, details, metadata }: StatusObject): ServiceError | undefined {
  if (code === status.OK) return undefined;
  return Object.assign(new Error(`${code} ${status[code]}: ${details}`), { code, details, metadata });
}
