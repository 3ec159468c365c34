import type { Message as AnyMessage, DescMessage, DescMethod } from "@bufbuild/protobuf";
import type { Metadata } from "@grpc/grpc-js";
import { readBinary } from "../../protocol/codec/binary/reader.js";
import type { ServerContext } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import type { Operation, Operations } from "../../protocol/operations.js";
import type { GrpcAdapter } from "../../version/codec.js";
import { adaptersFor } from "../../version/detect.js";
import { handlerFor, type ServerCall } from "../server-call.js";
import type { Service } from "../service.js";

/** One RPC of an adapter. */
export interface RpcMethod {
  readonly path: string;
  readonly adapter: GrpcAdapter;
  readonly operation: Operation;
  readonly descriptor: DescMethod;
}

/** One RPC as it is served: everything that a call of it needs. */
export interface ServedMethod extends RpcMethod {
  readonly handler: Operations<ServerContext>;
}

/** The RPCs at one path. Versions may share a service: then the declared one decides, else the newest takes the call. */
export interface ServedPath {
  readonly path: string;
  readonly methods: readonly [ServedMethod, ...ServedMethod[]];
}

/** The RPCs of an adapter with their operations. */
export function methodsOf(adapter: GrpcAdapter): readonly RpcMethod[] {
  return [...adapter.methods].map(([name, operation]) => {
    const descriptor = adapter.service.methods.find((method) => method.name === name);
    if (descriptor === undefined) throw new TypeError(`${adapter.service.typeName} has no method ${name}`);
    return { path: `/${adapter.service.typeName}/${name}`, adapter, operation, descriptor };
  });
}

/** What is served at each path by these adapters, the newest first. */
export function servedPaths(
  adapters: readonly GrpcAdapter[],
  service: Pick<Service, "handler" | "taskNames">,
): ReadonlyMap<string, ServedPath> {
  const paths = new Map<string, ServedPath>();
  for (const method of adapters.flatMap(methodsOf)) {
    const { path, adapter } = method;
    const served = { ...method, handler: handlerFor(adapter, service) };
    const known = paths.get(path);
    paths.set(path, { path, methods: known === undefined ? [served] : [...known.methods, served] });
  }
  return paths;
}

/**
 * The RPC that takes a call. A declared version has to be served; in strict mode it has to be that of an RPC at this path.
 * Throws `versionNotSupported`, `extensionSupportRequired` and, in strict mode, `methodNotFound`.
 */
export function methodFor(call: ServerCall, { methods }: ServedPath): ServedMethod {
  const { strictVersions: strict, versions } = call.service;
  call.declare(versions);
  const [adapter] = adaptersFor(
    { adapters: methods.map((method) => method.adapter), strict },
    call.declared,
    () => true,
  );
  const method = methods.find((each) => each.adapter === adapter);
  if (method === undefined) throw new A2AError("methodNotFound", `version ${call.declared} has another service`);
  return method;
}

/** A metadata value as one string: repeated values joined by commas, binary ones in base64. */
export function headerOf(metadata: Metadata, name: string): string | undefined {
  const values = metadata.get(name);
  if (values.length === 0) return undefined;
  return values.map((value) => (typeof value === "string" ? value : value.toString("base64"))).join(",");
}

/** A `Buffer` on the same memory; grpc-js writes nothing else. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Messages go to and from grpc-js as bytes. */
export const same = (bytes: Buffer): Buffer => bytes;

/**
 * How deep messages are decoded. A level of free JSON takes two messages; what is too deep for a request is refused by its
 * path, which the decoder could not name.
 */
export const decodeOptions = { recursionLimit: 1_000 } as const;

/** Decodes a request. Throws `parseError` for bytes that are no such message. */
export function decodeMessage(schema: DescMessage, bytes: Uint8Array): AnyMessage {
  try {
    return readBinary(schema, bytes, decodeOptions);
  } catch (cause) {
    throw new A2AError("parseError", `the request is no ${schema.typeName} message`, { cause });
  }
}
