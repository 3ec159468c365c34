import { type Message as AnyMessage, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, Metadata, type ServiceError } from "@grpc/grpc-js";
import type { CallOptions } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import type { Operation, Operations, StreamItem } from "../../protocol/operations.js";
import { extensionsParameter, formatExtensions, versionParameter } from "../../protocol/service-parameters.js";
import type { GrpcFace } from "../../version/codec.js";
import { leavable } from "../leavable.js";
import { createTransport } from "../transport.js";
import { credentialsOf, type GrpcTls, targetOf } from "./address.js";
import { errorFromStatus } from "./errors.js";
import { asBuffer, asBytes, decodeOptions, methodsOf, type RpcMethod } from "./method.js";

export interface GrpcTransportOptions {
  /** `host:port`, or a URL; `https` and `grpcs` mean TLS, and port 443 when none is named. */
  readonly address: string;
  readonly face: GrpcFace;
  /** Certificates of our own, or `true` for TLS with the system's. Default: TLS when the address says so. */
  readonly tls?: GrpcTls | true | undefined;
  /** Metadata for every call. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Largest message that is taken from the peer, in bytes. Default: 64 MiB. */
  readonly replyMaxBytes?: number | undefined;
}

/** The gRPC client end. It connects at the first call; `close` drops the connection. */
export type GrpcTransport = Operations<CallOptions> & { close(): void };

/** Calls an agent over gRPC. */
export function createGrpcTransport(options: GrpcTransportOptions): GrpcTransport {
  const client = new Client(targetOf(options.address), credentialsOf(options.address, options.tls), {
    "grpc.max_receive_message_length": options.replyMaxBytes ?? 64 * 1024 * 1024,
    "grpc.enable_channelz": 0,
    "grpc.service_config_disable_resolution": 1,
    // An agent that was away is found again within seconds.
    "grpc.max_reconnect_backoff_ms": 10_000,
  });
  const metadata = metadataWriter(options);
  const methods = new Map(methodsOf(options.face).map((method) => [method.operation, { ...method, client, metadata }]));
  const methodOf = (operation: Operation): CalledMethod => {
    const method = methods.get(operation);
    if (method !== undefined) return method;
    throw new A2AError("unsupportedOperation", `${operation.method} does not exist in this version over gRPC`);
  };
  const calls = createTransport({
    unary: async (operation, request, options) => callUnary(methodOf(operation), request, options),
    stream: (operation, request, options) =>
      leavable((left) => callStream(() => methodOf(operation), request, { ...options, left })),
  });
  return { ...calls, close: () => client.close() };
}

/** One RPC as it is called. */
interface CalledMethod extends RpcMethod {
  readonly client: Client;
  readonly metadata: (options: CallOptions) => Metadata;
}

function callUnary(method: CalledMethod, request: AnyMessage, options: CallOptions): Promise<AnyMessage> {
  const { client, face, operation, path, descriptor, metadata } = method;
  const { signal } = options;
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const wire = encode(descriptor.input, face.writeRequest(operation, request));
    const answered = (error: ServiceError | null, reply?: Uint8Array): void => {
      signal?.removeEventListener("abort", cancel);
      try {
        if (error !== null) throw failureOf(error, signal);
        resolve(face.readReply(operation, decodeReply(descriptor.output, reply)));
      } catch (failure) {
        reject(failure);
      }
    };
    const call = client.makeUnaryRequest(path, same, asBytes, wire, metadata(options), limitsOf(options), answered);
    const cancel = (): void => call.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
  });
}

interface StreamOptions extends CallOptions {
  /** Aborts when the reader leaves, maybe while it waits for an event. */
  readonly left: AbortSignal;
}

async function* callStream(
  find: () => CalledMethod,
  request: AnyMessage,
  options: StreamOptions,
): AsyncGenerator<StreamItem, void, undefined> {
  const { client, face, operation, path, descriptor, metadata } = find();
  const { signal, left } = options;
  signal?.throwIfAborted();
  const wire = encode(descriptor.input, face.writeRequest(operation, request));
  const call = client.makeServerStreamRequest(path, same, asBytes, wire, metadata(options), limitsOf(options));
  // The iterator below tells of errors; one that comes after its end has nobody to tell.
  call.on("error", () => {});
  const cancel = (): void => call.cancel();
  signal?.addEventListener("abort", cancel, { once: true });
  left.addEventListener("abort", cancel, { once: true });
  const reader = face.readStream(operation);
  try {
    for await (const payload of call) yield* reader.read(decodeReply(descriptor.output, payload), undefined);
  } catch (error) {
    if (!left.aborted) throw failureOf(error, signal);
  } finally {
    signal?.removeEventListener("abort", cancel);
    call.cancel();
  }
}

function encode(schema: DescMessage, message: AnyMessage): Buffer {
  return asBuffer(toBinary(schema, message));
}

const same = (bytes: Buffer): Buffer => bytes;

function decodeReply(schema: DescMessage, bytes: Uint8Array | undefined): AnyMessage {
  try {
    return fromBinary(schema, bytes ?? new Uint8Array(0), decodeOptions);
  } catch (cause) {
    throw new A2AError("invalidAgentResponse", `the reply is no ${schema.typeName} message`, { cause });
  }
}

function limitsOf({ timeoutMs }: CallOptions): { deadline?: number } {
  return timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
}

/** What a call throws: the caller's own reason when it gave up, else what the peer's status says. */
function failureOf(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted === true) return signal.reason;
  return isStatus(error) ? errorFromStatus(error) : error;
}

function isStatus(error: unknown): error is ServiceError {
  return error instanceof Error && "metadata" in error && error.metadata instanceof Metadata;
}

/** Metadata of a call. Most calls add nothing of their own and share one object. */
function metadataWriter({ face, headers = {} }: GrpcTransportOptions): (options: CallOptions) => Metadata {
  const shared = new Metadata();
  for (const [name, value] of Object.entries(headers)) set(shared, name, value);
  shared.set(versionParameter, face.version);
  return (options) => {
    if (options.headers === undefined && options.extensions === undefined && options.after === undefined) return shared;
    const own = shared.clone();
    for (const [name, value] of Object.entries(options.headers ?? {})) set(own, name, value);
    if (options.extensions !== undefined) own.set(extensionsParameter, formatExtensions(options.extensions));
    if (options.after !== undefined) own.set("last-event-id", options.after);
    return own;
  };
}

function set(metadata: Metadata, name: string, value: string): void {
  metadata.set(name, name.toLowerCase().endsWith("-bin") ? Buffer.from(value, "base64") : value);
}
