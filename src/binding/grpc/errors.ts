import type { Metadata } from "@grpc/grpc-js";
import { type A2AError, errorCodeFromGrpc, errorTable } from "../../protocol/errors.js";
import type { GrpcAdapter } from "../../version/codec.js";
import { encodeStatus, errorFromStatusBytes, statusMessage } from "./details.js";
import type { RpcMethod } from "./method.js";

const detailsKey = "grpc-status-details-bin";

/** Metadata as HTTP/2 sends it: lower-case names; base64 where the name ends in `-bin`. */
export type SentMetadata = Readonly<Record<string, string>>;

/** The metadata that says how a call ends. */
export function createStatus(code: number, message: string): SentMetadata {
  return { "grpc-status": String(code), "grpc-message": encodeURI(message.toWellFormed()) };
}

export const okStatus: SentMetadata = { "grpc-status": "0" };

/** Encodes an error as a gRPC status: code, message, and typed details in the trailer (spec 10.6). */
export function errorToStatus(error: A2AError, adapter?: GrpcAdapter): SentMetadata {
  const code = adapter?.findStatus?.(error) ?? errorTable[error.code].grpc;
  const status = createStatus(code, (adapter?.findPrefix?.(error) ?? "") + statusMessage(error));
  return { ...status, [detailsKey]: Buffer.from(encodeStatus(error, code)).toString("base64") };
}

export interface ReceivedStatus {
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

/** The RPC that the status answers. */
export type CalledRpc = Pick<RpcMethod, "operation" | "adapter">;

/**
 * Reads a gRPC status. The reason in the details decides, else the message's prefix, else the status code. Never
 * throws.
 */
export function errorFromStatus(status: ReceivedStatus, rpc?: CalledRpc): A2AError {
  const [details] = status.metadata.get(detailsKey);
  const bytes = typeof details === "object" ? details : new Uint8Array(0);
  const { adapter, operation } = rpc ?? {};
  const prefix = adapter?.readPrefix?.(status.details);
  const versionCode = operation === undefined ? undefined : adapter?.readStatus?.(status.code, operation);
  const code = prefix?.code ?? versionCode ?? errorCodeFromGrpc(status.code);
  return errorFromStatusBytes(bytes, prefix?.message ?? status.details, code);
}
