import type { Message as AnyMessage, DescMessage, DescMethod } from "@bufbuild/protobuf";
import { readBinary } from "../../protocol/codec/binary/reader.js";
import { A2AError } from "../../protocol/errors.js";
import type { Operation } from "../../protocol/operations.js";
import type { GrpcAdapter } from "../../version/codec.js";
import { adaptersFor } from "../../version/detect.js";
import { handlerFor, type ServerCall } from "../server-call.js";

/** One RPC of an adapter. */
export interface RpcMethod {
  readonly path: string;
  readonly adapter: GrpcAdapter;
  readonly operation: Operation;
  readonly descriptor: DescMethod;
}

/** The RPCs at one path. Versions may share a service: the declared version decides, else the newest takes the call. */
export interface ServedPath {
  readonly path: string;
  readonly methods: readonly [RpcMethod, ...RpcMethod[]];
}

/** The RPCs of an adapter with their operations. */
export function listMethods(adapter: GrpcAdapter): readonly RpcMethod[] {
  return [...adapter.methods].map(([name, operation]) => {
    const descriptor = adapter.service.methods.find((method) => method.name === name);
    if (descriptor === undefined) throw new TypeError(`${adapter.service.typeName} has no method ${name}`);
    return { path: `/${adapter.service.typeName}/${name}`, adapter, operation, descriptor };
  });
}

/** Maps each path to its RPCs, newest first. */
export function groupByPath(adapters: readonly GrpcAdapter[]): ReadonlyMap<string, ServedPath> {
  const paths = new Map<string, ServedPath>();
  for (const method of adapters.flatMap(listMethods)) {
    const { path } = method;
    const existing = paths.get(path);
    paths.set(path, { path, methods: existing === undefined ? [method] : [...existing.methods, method] });
  }
  return paths;
}

/**
 * Picks the RPC of a call. A declared version must be served; in strict mode it must also have an RPC at this path.
 * Throws `versionNotSupported`, `extensionSupportRequired` and, in strict mode, `methodNotFound`.
 */
export function methodFor(call: ServerCall, { methods }: ServedPath): RpcMethod {
  const { strictVersions: strict, versions } = call.service;
  call.declare(versions);
  const [adapter] = adaptersFor(
    { adapters: methods.map((method) => method.adapter), strict },
    call.declaredVersion,
    () => true,
  );
  const method = methods.find((each) => each.adapter === adapter);
  if (method === undefined)
    throw new A2AError(
      "methodNotFound",
      `version ${call.declaredVersion} uses another gRPC service: send the A2A-Version of this one`,
    );
  call.target = { ...method, handler: handlerFor(method.adapter, call.service) };
  return method;
}

/** Returns a `Buffer` on the same memory, the only type that grpc-js writes. */
export function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * Nesting limit of the decoder; a level of free-form JSON takes two messages. Set high, so that validation refuses
 * requests that are too deep and names the path, which the decoder cannot.
 */
export const decodeOptions = { recursionLimit: 1_000 } as const;

/** Decodes a request. Throws `parseError` for invalid bytes, `contentTooLarge` for too much free JSON. */
export function decodeMessage(schema: DescMessage, bytes: Uint8Array, maxValues: number): AnyMessage {
  try {
    return readBinary(schema, bytes, { ...decodeOptions, maxValues });
  } catch (cause) {
    if (cause instanceof A2AError) throw cause;
    throw new A2AError("parseError", `the request is not a ${schema.typeName} message`, { cause });
  }
}
