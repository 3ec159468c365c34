import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { type ChannelInterface, Metadata, type StatusObject } from "@grpc/grpc-js";
import { timerMs } from "../../protocol/async/clock.js";
import { readBinary } from "../../protocol/codec/binary/reader.js";
import { writeBuffer } from "../../protocol/codec/binary/writer.js";
import { maxReplyValues, tooManyReplyValues } from "../../protocol/codec/reply-values.js";
import type { CallOptions } from "../../protocol/context.js";
import { A2AError, ConnectionError } from "../../protocol/errors.js";
import type { Operation, Operations, StreamItem } from "../../protocol/operations.js";
import { formatExtensions, lowerCaseNames, versionParameter } from "../../protocol/service-parameters.js";
import type { GrpcAdapter, StreamReader } from "../../version/codec.js";
import type { AddressPolicy, Lookup } from "../fetch/address-policy.js";
import type { ClientTls } from "../fetch/client-tls.js";
import { connectTimeoutDefaultMs } from "../fetch/node-fetch.js";
import { createTransport, missingOperation } from "../transport.js";
import { CallItems } from "./call-items.js";
import { ChannelManager, createCredentials } from "./channel-manager.js";
import { callFailure } from "./internals/call-failure.js";
import { type CallRequest, type OpenCall, openCall } from "./internals/open-call.js";
import { decodeOptions, listMethods, type RpcMethod } from "./method.js";

export interface GrpcTransportOptions {
  /** `host:port` or a URL. `https` and `grpcs` mean TLS, with 443 as the default port. */
  readonly address: string;
  readonly adapter: GrpcAdapter;
  /** Client certificates, or `true` for TLS with the system's authorities. Default: TLS if the address asks for it. */
  readonly tls?: ClientTls | true | undefined;
  /** Metadata for every call. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Largest accepted message, in bytes. Default: 64 MiB. */
  readonly replyMaxBytes?: number | undefined;
  /** Time for name lookup, connection, TLS handshake and HTTP/2 settings together. Default: 5 s. */
  readonly connectTimeoutMs?: number | undefined;
  /** Time between two pings while calls are under way, in milliseconds. Default: no pings. */
  readonly grpcKeepaliveMs?: number | undefined;
  /** Time for the answer to a ping in milliseconds; then the connection is destroyed. Default: 20 s. */
  readonly grpcKeepaliveTimeoutMs?: number | undefined;
  /** Which addresses may be connected to. Default: any. */
  readonly policy?: AddressPolicy | undefined;
  /** Resolves names; used only with a policy. Default: the system's resolver. */
  readonly lookup?: Lookup | undefined;
}

/** A gRPC client transport. It connects on the first call; `close` drops the connection. */
export type GrpcTransport = Operations<CallOptions> & { close(): void };

/** Creates a client transport for gRPC. */
export function createGrpcTransport(options: GrpcTransportOptions): GrpcTransport {
  const {
    address,
    adapter,
    tls,
    replyMaxBytes = 64 * 1024 * 1024,
    connectTimeoutMs = connectTimeoutDefaultMs,
    grpcKeepaliveMs = Number.POSITIVE_INFINITY,
    grpcKeepaliveTimeoutMs = 20_000,
    policy,
    lookup,
  } = options;
  const settings = {
    "grpc.max_receive_message_length": replyMaxBytes,
    "grpc.enable_channelz": 0,
    "grpc.service_config_disable_resolution": 1,
    // Clients share no connections, so a connection that one gave up never reaches another.
    "grpc.use_local_subchannel_pool": 1,
    // The longest delay of a timer means never.
    "grpc.keepalive_time_ms": timerMs(grpcKeepaliveMs),
    "grpc.keepalive_timeout_ms": timerMs(grpcKeepaliveTimeoutMs),
  };
  const credentials = createCredentials(address, tls);
  const channels = new ChannelManager({ address, credentials, settings, connectTimeoutMs, policy, lookup });
  const metadata = metadataWriter(options);
  const connection = { channels, address, metadata, maxValues: maxReplyValues(replyMaxBytes) };
  const methods = new Map(listMethods(adapter).map((method) => [method.operation, { ...method, ...connection }]));
  const findMethod = (operation: Operation): CalledMethod => {
    const method = methods.get(operation);
    if (method !== undefined) return method;
    throw missingOperation(adapter, operation, "GRPC");
  };
  const calls = createTransport({
    unary: (operation, request, options) => callUnary(() => findMethod(operation), request, options),
    stream: (operation, request, options) => callStream(() => findMethod(operation), request, options),
  });
  return { ...(adapter.call?.(calls) ?? calls), close: () => channels.close() };
}

/** An RPC with its connection and metadata. */
interface CalledMethod extends RpcMethod {
  readonly channels: ChannelManager;
  readonly address: string;
  readonly metadata: (options: CallOptions) => Metadata;
  readonly maxValues: number;
}

async function callUnary(find: () => CalledMethod, request: AnyMessage, options: CallOptions): Promise<AnyMessage> {
  const method = find();
  const { adapter, operation, channels } = method;
  const { signal } = options;
  signal?.throwIfAborted();
  const callRequest = buildRequest(method, request, options);
  const connecting = channels.take();
  const channel = connecting instanceof Promise ? await waitUntilOver(options, connecting) : connecting;
  // Awaited here, since returning the promise takes two more microtask turns.
  return await new Promise<AnyMessage>((resolve, reject) => {
    let reply: Uint8Array | undefined;
    const call = openCall(channel, callRequest, {
      onMessage(message) {
        reply = message;
      },
      onEnd(failure) {
        signal?.removeEventListener("abort", call.cancel);
        try {
          if (failure !== undefined) throw readFailure(failure, { method, channel, call });
          resolve(adapter.readReply(operation, decodeReply(method, reply), request));
        } catch (error) {
          reject(signal?.aborted === true ? signal.reason : error);
        }
      },
    });
    call.read();
    signal?.addEventListener("abort", call.cancel, { once: true });
  });
}

/** Starts a streaming call. The reader may leave it at any time. */
function callStream(
  find: () => CalledMethod,
  request: AnyMessage,
  options: CallOptions,
): AsyncIterableIterator<StreamItem, undefined, undefined> {
  const { signal } = options;
  const leave = new AbortController();
  let channelCall: ChannelCall & { readonly reader: StreamReader<AnyMessage> };
  return new CallItems({
    async open(listener) {
      const method = find();
      signal?.throwIfAborted();
      const callRequest = buildRequest(method, request, options);
      const connecting = method.channels.take();
      const waits = connecting instanceof Promise;
      const channel = waits
        ? await waitUntilOver(options, connecting, leave.signal).catch(ignoreAfterLeave(leave.signal))
        : connecting;
      if (channel === undefined) return undefined;
      const call = openCall(channel, callRequest, listener);
      channelCall = { method, channel, call, reader: method.adapter.readStream(method.operation, request) };
      signal?.addEventListener("abort", call.cancel, { once: true });
      return call;
    },
    read: (message) => channelCall.reader.read(decodeReply(channelCall.method, message)),
    isOver: () => channelCall.reader.isOver === true,
    onEnd() {
      leave.abort();
      if (channelCall !== undefined) signal?.removeEventListener("abort", channelCall.call.cancel);
    },
    failure: (outcome) => (signal?.aborted === true ? signal.reason : readFailure(outcome, channelCall)),
  });
}

/** Builds the request. The deadline starts here, so connecting counts. */
function buildRequest(
  { adapter, operation, path, descriptor, metadata }: CalledMethod,
  request: AnyMessage,
  options: CallOptions,
): CallRequest {
  const message = writeBuffer(descriptor.input, adapter.writeRequest(operation, request));
  const { timeoutMs = Number.POSITIVE_INFINITY } = options;
  return { path, message, metadata: metadata(options), deadline: Date.now() + timeoutMs };
}

/** Waits for a promise until the caller aborts, the reader leaves or the timeout passes. */
function waitUntilOver<T>({ signal, timeoutMs }: CallOptions, wait: Promise<T>, leaveSignal?: AbortSignal): Promise<T> {
  const deadline = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  const endSignal = AbortSignal.any([signal, leaveSignal, deadline].filter((each) => each !== undefined));
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(deadline?.aborted === true ? deadlineExceeded(timeoutMs) : endSignal.reason);
    if (endSignal.aborted) leave();
    endSignal.addEventListener("abort", leave, { once: true });
    wait.then(resolve, reject).finally(() => endSignal.removeEventListener("abort", leave));
  });
}

function deadlineExceeded(timeoutMs: number | undefined): A2AError {
  return new A2AError("deadlineExceeded", `no answer within ${timeoutMs} ms`);
}

function ignoreAfterLeave(leaveSignal: AbortSignal): (error: unknown) => undefined {
  return (error) => {
    if (!leaveSignal.aborted) throw error;
  };
}

function decodeReply({ descriptor, maxValues }: CalledMethod, bytes: Uint8Array | undefined): AnyMessage {
  if (bytes === undefined) throw new A2AError("invalidAgentResponse", "the agent ended the call without a reply");
  const schema = descriptor.output;
  try {
    return readBinary(schema, bytes, { ...decodeOptions, maxValues });
  } catch (cause) {
    if (cause instanceof A2AError) throw tooManyReplyValues(maxValues, cause);
    throw new A2AError("invalidAgentResponse", `the reply is not a ${schema.typeName} message`, { cause });
  }
}

/** A call with its RPC and channel. */
interface ChannelCall {
  readonly method: CalledMethod;
  readonly channel: ChannelInterface;
  readonly call: OpenCall;
}

function readFailure(outcome: StatusObject, { method, channel, call }: ChannelCall): A2AError {
  const { channels, address } = method;
  const failure = callFailure(outcome, { channel, method, address, peer: call.getPeer() });
  if (failure instanceof ConnectionError && !failure.written) channels.drop(channel);
  return failure;
}

/**
 * Creates the function that builds a call's metadata. Most calls share one object: they add nothing, or only the same
 * extensions as the last call.
 */
function metadataWriter({ adapter, headers = {} }: GrpcTransportOptions): (options: CallOptions) => Metadata {
  const baseMetadata = new Metadata();
  for (const [name, value] of Object.entries(lowerCaseNames(headers))) set(baseMetadata, name, value);
  if (adapter.declares !== undefined) baseMetadata.set(versionParameter, adapter.declares);
  let last = { extensions: "", metadata: baseMetadata };
  const withExtensions = ({ extensions }: CallOptions): Metadata => {
    const extensionList = extensions === undefined ? "" : formatExtensions(extensions);
    if (extensionList === "") return baseMetadata;
    if (extensionList !== last.extensions) {
      last = { extensions: extensionList, metadata: baseMetadata.clone() };
      last.metadata.set(adapter.extensionsName, extensionList);
    }
    return last.metadata;
  };
  return (options) => {
    const base = withExtensions(options);
    if (options.headers === undefined && options.after === undefined) return base;
    const metadata = base.clone();
    for (const [name, value] of Object.entries(lowerCaseNames(options.headers))) set(metadata, name, value);
    if (options.after !== undefined) metadata.set("last-event-id", options.after);
    return metadata;
  };
}

function set(metadata: Metadata, name: string, value: string): void {
  metadata.set(name, name.toLowerCase().endsWith("-bin") ? Buffer.from(value, "base64") : value);
}
