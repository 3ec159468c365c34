import { type Message as AnyMessage, create, toBinary } from "@bufbuild/protobuf";
import { ConnectError, createClient, type CallOptions as WebOptions } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-node";
import { StatusSchema } from "../../gen/google/rpc/status_pb.js";
import { errorFromStatusBytes } from "../../src/binding/grpc/details.js";
import { createTransport, missingOperation } from "../../src/binding/transport.js";
import type { CallOptions } from "../../src/protocol/context.js";
import { type ErrorCode, errorCodes, errorTable } from "../../src/protocol/errors.js";
import type { Operation, Operations, StreamItem } from "../../src/protocol/operations.js";
import { formatExtensions, versionParameter } from "../../src/protocol/service-parameters.js";
import type { GrpcAdapter } from "../../src/version/codec.js";

type AnyCall = (request: unknown, options: WebOptions) => Promise<AnyMessage> & AsyncIterable<AnyMessage>;

/** The official client of gRPC-Web, dressed as our client ends are. */
export function webTransport(baseUrl: string, adapter: GrpcAdapter): Operations<CallOptions> {
  const client = createClient(adapter.service, createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }));
  const rpcs = new Map([...adapter.methods].map(([rpc, operation]) => [operation, rpc]));
  const callOf = (operation: Operation): AnyCall => {
    const rpc = rpcs.get(operation);
    const method = adapter.service.methods.find(({ name }) => name === rpc);
    if (method === undefined) throw missingOperation(adapter, operation, "gRPC-Web");
    return Reflect.get(client, method.localName);
  };
  const calls = createTransport({
    async unary(operation, request, call) {
      const wire = adapter.writeRequest(operation, request);
      const reply = await callOf(operation)(wire, webOptions(adapter, call)).catch(rethrow);
      return adapter.readReply(operation, reply, request);
    },
    async *stream(operation, request, call): AsyncGenerator<StreamItem> {
      const reader = adapter.readStream(operation, request);
      const events = callOf(operation)(adapter.writeRequest(operation, request), webOptions(adapter, call));
      try {
        for await (const event of events) {
          yield* reader.read(event);
          if (reader.isOver === true) return;
        }
      } catch (error) {
        rethrow(error);
      }
    },
  });
  return adapter.call?.(calls) ?? calls;
}

function webOptions(
  { declares, extensionsName }: GrpcAdapter,
  { signal, timeoutMs, headers, extensions, after }: CallOptions,
): WebOptions {
  const givenHeaders = Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
  const all: Record<string, string> = {
    ...(declares !== undefined && { [versionParameter]: declares }),
    ...Object.fromEntries(givenHeaders),
  };
  if (extensions !== undefined) all[extensionsName] = formatExtensions(extensions);
  if (after !== undefined) all["last-event-id"] = after;
  return { headers: all, ...(signal && { signal }), ...(timeoutMs !== undefined && { timeoutMs }) };
}

function rethrow(error: unknown): never {
  if (!(error instanceof ConnectError)) throw error;
  const details = error.details.flatMap((detail) =>
    "type" in detail ? [{ typeUrl: `type.googleapis.com/${detail.type}`, value: detail.value }] : [],
  );
  const status = toBinary(StatusSchema, create(StatusSchema, { code: error.code, details }));
  throw errorFromStatusBytes(status, error.rawMessage, codeOf(error.code));
}

function codeOf(status: number): ErrorCode {
  return errorCodes.find((code) => errorTable[code].grpc === status) ?? "internalError";
}
