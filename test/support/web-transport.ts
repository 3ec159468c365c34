import { create, toBinary } from "@bufbuild/protobuf";
import { ConnectError, createClient, type CallOptions as WebOptions } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { StatusSchema } from "../../gen/google/rpc/status_pb.js";
import { errorFromStatusBytes } from "../../src/binding/grpc/details.js";
import { createTransport } from "../../src/binding/transport.js";
import type { CallOptions } from "../../src/protocol/context.js";
import { type ErrorCode, errorCodes, errorTable } from "../../src/protocol/errors.js";
import { A2AService, type StreamResponse } from "../../src/protocol/model.js";
import type { Operation, Operations, StreamItem } from "../../src/protocol/operations.js";
import { extensionsParameter, formatExtensions, versionParameter } from "../../src/protocol/service-parameters.js";

export type WebWire = "connect" | "grpc-web";

type AnyCall = (request: unknown, options: WebOptions) => Promise<never> & AsyncIterable<StreamResponse>;

/** The official clients of Connect and gRPC-Web, dressed as our client ends are. */
export function webTransport(wire: WebWire, baseUrl: string): Operations<CallOptions> {
  const options = { baseUrl, httpVersion: "1.1", useBinaryFormat: wire === "grpc-web" } as const;
  const transport = wire === "connect" ? createConnectTransport(options) : createGrpcWebTransport(options);
  const client = createClient(A2AService, transport);
  const callOf = ({ descriptor }: Operation): AnyCall => Reflect.get(client, descriptor.localName);
  return createTransport({
    unary: (operation, request, call) => callOf(operation)(request, webOptions(call)).catch(rethrow),
    async *stream(operation, request, call): AsyncGenerator<StreamItem> {
      try {
        for await (const response of callOf(operation)(request, webOptions(call))) yield { response };
      } catch (error) {
        rethrow(error);
      }
    },
  });
}

function webOptions({ signal, timeoutMs, headers, extensions, after }: CallOptions): WebOptions {
  const given = Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
  const all: Record<string, string> = { [versionParameter]: "1.0", ...Object.fromEntries(given) };
  if (extensions !== undefined) all[extensionsParameter] = formatExtensions(extensions);
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
