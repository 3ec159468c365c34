import { Metadata, type StatusObject } from "@grpc/grpc-js";
import { type A2AError, type ErrorCode, errorTable } from "../../protocol/errors.js";
import type { GrpcFace } from "../../version/codec.js";
import { encodeStatus, errorFromStatusBytes, statusMessage } from "./details.js";

const detailsKey = "grpc-status-details-bin";

/** An error as a gRPC status: code, message, and the typed details in the trailer (spec 10.6). */
export function errorToStatus(error: A2AError, face?: Pick<GrpcFace, "prefixOf">): StatusObject {
  const metadata = new Metadata();
  metadata.set(detailsKey, Buffer.from(encodeStatus(error)));
  const details = (face?.prefixOf?.(error) ?? "") + statusMessage(error);
  return { code: errorTable[error.code].grpc, details, metadata };
}

export interface ReceivedStatus {
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

/** Reads a gRPC status: by the reason in its details, else by its prefix, else by its number. Never throws. */
export function errorFromStatus(status: ReceivedStatus, face?: Pick<GrpcFace, "readPrefix">): A2AError {
  const [details] = status.metadata.get(detailsKey);
  const bytes = typeof details === "object" ? details : new Uint8Array(0);
  const named = face?.readPrefix?.(status.details);
  const code = named?.code ?? codeByStatus[status.code] ?? "internalError";
  return errorFromStatusBytes(bytes, named?.message ?? status.details, code);
}

// For peers that send no ErrorInfo. CANCELLED: the peer dropped the call unasked, as it does when it shuts down.
const codeByStatus: Readonly<Record<number, ErrorCode>> = {
  1: "unavailable",
  3: "invalidParams",
  4: "deadlineExceeded",
  5: "taskNotFound",
  7: "permissionDenied",
  8: "resourceExhausted",
  9: "unsupportedOperation",
  11: "invalidParams",
  12: "methodNotFound",
  14: "unavailable",
  16: "unauthenticated",
};
