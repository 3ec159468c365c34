import { create, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { type Any, anyPack, anyUnpack, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import { createErrorInfos, type ErrorInfo, readErrorInfos } from "../../protocol/error-details.js";
import { A2AError, changeError, type ErrorCode, type ErrorOptions, errorTable } from "../../protocol/errors.js";

// The protobuf form of an error, shared by gRPC and Connect: google.rpc.Status with typed details (spec 10.6).

type Detail =
  | { readonly desc: typeof ErrorInfoSchema; readonly value: MessageShape<typeof ErrorInfoSchema> }
  | { readonly desc: typeof BadRequestSchema; readonly value: MessageShape<typeof BadRequestSchema> }
  | { readonly desc: typeof RetryInfoSchema; readonly value: MessageShape<typeof RetryInfoSchema> };

/** Returns `ErrorInfo` always, `BadRequest` and `RetryInfo` if the error has violations or a retry delay. */
export function buildDetails(error: A2AError, maxViolations = error.violations.length): readonly Detail[] {
  const details: Detail[] = createErrorInfos(error).map(({ reason, domain, metadata }) => ({
    desc: ErrorInfoSchema,
    value: create(ErrorInfoSchema, { reason, domain, metadata: { ...metadata } }),
  }));
  if (maxViolations > 0) {
    const fieldViolations = error.violations
      .slice(0, maxViolations)
      .map(({ field, description }) => ({ field, description }));
    details.push({ desc: BadRequestSchema, value: create(BadRequestSchema, { fieldViolations }) });
  }
  if (error.retryAfterMs !== undefined) {
    const retryDelay = durationFromMs(error.retryAfterMs);
    details.push({ desc: RetryInfoSchema, value: create(RetryInfoSchema, { retryDelay }) });
  }
  return details;
}

// Many peers refuse more than 8 KiB of metadata, base64 included, and then lose the status too.
const statusMaxBytes = 4096;
const messageMaxLength = 512;

/** The error's message for metadata: truncated, and without lone surrogates. */
export function statusMessage(error: A2AError): string {
  const { message } = error;
  return (message.length > messageMaxLength ? `${message.slice(0, messageMaxLength)}…` : message).toWellFormed();
}

/**
 * Encodes `google.rpc.Status`. Drops violations from the end until it fits into metadata, then every detail but the
 * reason, and at last a reason of the sender's own.
 */
export function encodeStatus(error: A2AError, code: number = errorTable[error.code].grpc): Uint8Array {
  const message = statusMessage(error);
  const encode = (details: readonly Detail[]): Uint8Array =>
    toBinary(StatusSchema, create(StatusSchema, { code, message, details: details.map(pack) }));
  for (let count = error.violations.length; ; count = Math.trunc(count / 2)) {
    const bytes = encode(buildDetails(error, count));
    if (bytes.length <= statusMaxBytes) return bytes;
    if (count === 0) break;
  }
  const shortest = encode(buildDetails(changeError(error, { metadata: {}, violations: [], retryAfterMs: undefined })));
  return shortest.length <= statusMaxBytes ? shortest : encode(buildDetails(new A2AError(error.code, message)));
}

function pack({ desc, value }: Detail): Any {
  return anyPack(desc, value);
}

/** Reads `google.rpc.Status` and ignores unreadable bytes. Never throws. */
export function errorFromStatusBytes(bytes: Uint8Array, message: string, fallback: ErrorCode): A2AError {
  try {
    return errorFromAny(fromBinary(StatusSchema, bytes).details, message, fallback);
  } catch (cause) {
    return new A2AError(fallback, message, { cause });
  }
}

/** Builds the error from packed details. `fallback` is its code if they hold no known `ErrorInfo`. */
function errorFromAny(details: readonly Any[], message: string, fallback: ErrorCode): A2AError {
  const infos: ErrorInfo[] = [];
  const options: { -readonly [K in keyof ErrorOptions]: ErrorOptions[K] } = {};
  for (const detail of details) {
    const info = anyUnpack(detail, ErrorInfoSchema);
    if (info !== undefined) infos.push(info);
    const badRequest = anyUnpack(detail, BadRequestSchema);
    if (badRequest !== undefined) {
      options.violations = badRequest.fieldViolations.map(({ field, description }) => ({ field, description }));
    }
    const delay = anyUnpack(detail, RetryInfoSchema)?.retryDelay;
    if (delay !== undefined) options.retryAfterMs = durationMs(delay);
  }
  const { code, ...info } = readErrorInfos(infos, fallback);
  return new A2AError(code, message, { ...options, ...info });
}
