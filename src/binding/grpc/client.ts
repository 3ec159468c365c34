import type { Message as AnyMessage, DescMessage } from "@bufbuild/protobuf";
import { type Client, Metadata, type ServiceError } from "@grpc/grpc-js";
import { readBinary } from "../../protocol/binary-reader.js";
import { writeBuffer } from "../../protocol/binary-writer.js";
import type { CallOptions } from "../../protocol/context.js";
import { A2AError, ConnectionError } from "../../protocol/errors.js";
import type { Operation, Operations, StreamItem } from "../../protocol/operations.js";
import { formatExtensions, versionParameter } from "../../protocol/service-parameters.js";
import type { GrpcFace, StreamReader } from "../../version/codec.js";
import type { AddressPolicy, Lookup } from "../address-policy.js";
import type { ClientTls } from "../client-tls.js";
import { connectTimeoutDefaultMs } from "../node-fetch.js";
import { createTransport, missingIn } from "../transport.js";
import { credentialsOf } from "./address.js";
import { callFailure } from "./call-failure.js";
import { CallItems } from "./call-items.js";
import { Line } from "./line.js";
import { decodeOptions, methodsOf, type RpcMethod, same } from "./method.js";
import { callStreaming } from "./stream-call.js";

export interface GrpcTransportOptions {
  /** `host:port`, or a URL; `https` and `grpcs` mean TLS, and port 443 when none is named. */
  readonly address: string;
  readonly face: GrpcFace;
  /** Certificates of our own, or `true` for TLS with the system's. Default: TLS when the address says so. */
  readonly tls?: ClientTls | true | undefined;
  /** Metadata for every call. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Largest message that is taken from the peer, in bytes. Default: 64 MiB. */
  readonly replyMaxBytes?: number | undefined;
  /** Time for name, connection, TLS handshake and HTTP/2 settings together. Default: 5 s. */
  readonly connectTimeoutMs?: number | undefined;
  /** Which addresses may be connected to. Default: any. */
  readonly policy?: AddressPolicy | undefined;
  /** How names become addresses; used with a policy only. Default: as the system does it. */
  readonly lookup?: Lookup | undefined;
}

/** The gRPC client end. It connects at the first call; `close` drops the connection. */
export type GrpcTransport = Operations<CallOptions> & { close(): void };

/** Calls an agent over gRPC. */
export function createGrpcTransport(options: GrpcTransportOptions): GrpcTransport {
  const {
    address,
    face,
    tls,
    replyMaxBytes = 64 * 1024 * 1024,
    connectTimeoutMs = connectTimeoutDefaultMs,
    policy,
    lookup,
  } = options;
  const channel = {
    "grpc.max_receive_message_length": replyMaxBytes,
    "grpc.enable_channelz": 0,
    "grpc.service_config_disable_resolution": 1,
    // What one client has given up is not handed to the next.
    "grpc.use_local_subchannel_pool": 1,
  };
  const credentials = credentialsOf(address, tls);
  const line = new Line({ address, credentials, channel, connectTimeoutMs, policy, lookup });
  const metadata = metadataWriter(options);
  const shared = { line, address, metadata };
  const methods = new Map(methodsOf(face).map((method) => [method.operation, { ...method, ...shared }]));
  const methodOf = (operation: Operation): CalledMethod => {
    const method = methods.get(operation);
    if (method !== undefined) return method;
    throw missingIn(face, operation, "gRPC");
  };
  const calls = createTransport({
    unary: async (operation, request, options) => callUnary(methodOf(operation), request, options),
    stream: (operation, request, options) => callStream(() => methodOf(operation), request, options),
  });
  return { ...(face.call?.(calls) ?? calls), close: () => line.close() };
}

/** One RPC as it is called. */
interface CalledMethod extends RpcMethod {
  readonly line: Line;
  readonly address: string;
  readonly metadata: (options: CallOptions) => Metadata;
}

async function callUnary(method: CalledMethod, request: AnyMessage, options: CallOptions): Promise<AnyMessage> {
  const { face, operation, path, descriptor, metadata } = method;
  const { signal } = options;
  signal?.throwIfAborted();
  const wire = encode(descriptor.input, face.writeRequest(operation, request));
  const limits = limitsOf(options);
  const client = await clientOf(method, options);
  return new Promise((resolve, reject) => {
    const answered = (error: ServiceError | null, reply?: Uint8Array): void => {
      signal?.removeEventListener("abort", cancel);
      try {
        if (error !== null) throw failureOf(error, { method, client, call });
        resolve(face.readReply(operation, decodeReply(descriptor.output, reply), request));
      } catch (failure) {
        reject(signal?.aborted === true ? signal.reason : failure);
      }
    };
    const call = client.makeUnaryRequest(path, same, same, wire, metadata(options), limits, answered);
    const cancel = (): void => call.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
  });
}

/** A streaming call. Its reader may leave it at any time. */
function callStream(
  find: () => CalledMethod,
  request: AnyMessage,
  options: CallOptions,
): AsyncIterableIterator<StreamItem, undefined, undefined> {
  const { signal } = options;
  const left = new AbortController();
  let end: { readonly method: CalledMethod; readonly client: Client; readonly reader: StreamReader<AnyMessage> };
  let cancel = (): void => {};
  return new CallItems({
    async open(listener) {
      const method = find();
      const { face, operation, path, descriptor, metadata } = method;
      signal?.throwIfAborted();
      const wire = encode(descriptor.input, face.writeRequest(operation, request));
      const limits = limitsOf(options);
      const client = await clientOf(method, options, left.signal).catch(unlessLeft(left.signal));
      if (client === undefined) return undefined;
      end = { method, client, reader: face.readStream(operation, request) };
      const call = callStreaming(client, { path, message: wire, metadata: metadata(options), ...limits }, listener);
      cancel = () => call.cancel();
      signal?.addEventListener("abort", cancel, { once: true });
      return call;
    },
    read: (message) => end.reader.read(decodeReply(end.method.descriptor.output, message)),
    isOver: () => end.reader.isOver === true,
    ended() {
      left.abort();
      signal?.removeEventListener("abort", cancel);
    },
    failure: (error, call) => (signal?.aborted === true ? signal.reason : failureOf(error, { ...end, call })),
  });
}

/** The client of a line that stands, at once; else when it stands, unless the call is over before. */
function clientOf({ line }: CalledMethod, options: CallOptions, left?: AbortSignal): Promise<Client> {
  const client = line.take();
  if (!(client instanceof Promise)) return Promise.resolve(client);
  const { signal, timeoutMs } = options;
  const deadline = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  const over = AbortSignal.any([signal, left, deadline].filter((each) => each !== undefined));
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(deadline?.aborted === true ? deadlineExceeded(timeoutMs) : over.reason);
    if (over.aborted) leave();
    over.addEventListener("abort", leave, { once: true });
    client.then(resolve, reject).finally(() => over.removeEventListener("abort", leave));
  });
}

function deadlineExceeded(timeoutMs: number | undefined): A2AError {
  return new A2AError("deadlineExceeded", `no answer within ${timeoutMs} ms`);
}

function unlessLeft(left: AbortSignal): (error: unknown) => undefined {
  return (error) => {
    if (!left.aborted) throw error;
  };
}

function encode(schema: DescMessage, message: AnyMessage): Buffer {
  return writeBuffer(schema, message);
}

function decodeReply(schema: DescMessage, bytes: Uint8Array | undefined): AnyMessage {
  try {
    return readBinary(schema, bytes ?? new Uint8Array(0), decodeOptions);
  } catch (cause) {
    throw new A2AError("invalidAgentResponse", `the reply is no ${schema.typeName} message`, { cause });
  }
}

function limitsOf({ timeoutMs }: CallOptions): { deadline?: number } {
  return timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
}

interface FailedCall {
  readonly method: CalledMethod;
  readonly client: Client;
  readonly call: { getPeer(): string };
}

function failureOf(error: unknown, { method, client, call }: FailedCall): unknown {
  const { line, address } = method;
  const failure = callFailure(error, { client, method, address, peer: call.getPeer() });
  if (failure instanceof ConnectionError && !failure.written) line.drop(client);
  return failure;
}

/** Metadata of a call. Most calls add nothing of their own, or the extensions that the call before had, and share one object. */
function metadataWriter({ face, headers = {} }: GrpcTransportOptions): (options: CallOptions) => Metadata {
  const shared = new Metadata();
  for (const [name, value] of Object.entries(headers)) set(shared, name, value);
  if (face.declares !== undefined) shared.set(versionParameter, face.declares);
  let last = { extensions: "", metadata: shared };
  const extended = ({ extensions }: CallOptions): Metadata => {
    const wanted = extensions === undefined ? "" : formatExtensions(extensions);
    if (wanted === "") return shared;
    if (wanted !== last.extensions) {
      last = { extensions: wanted, metadata: shared.clone() };
      last.metadata.set(face.extensionsName, wanted);
    }
    return last.metadata;
  };
  return (options) => {
    const base = extended(options);
    if (options.headers === undefined && options.after === undefined) return base;
    const own = base.clone();
    for (const [name, value] of Object.entries(options.headers ?? {})) set(own, name, value);
    if (options.after !== undefined) own.set("last-event-id", options.after);
    return own;
  };
}

function set(metadata: Metadata, name: string, value: string): void {
  metadata.set(name, name.toLowerCase().endsWith("-bin") ? Buffer.from(value, "base64") : value);
}
