import { A2AError, type ErrorCode, errorCodeFromJsonRpc, errorCodeFromReason } from "../protocol/errors.js";
import { isRecord } from "../protocol/kinds.js";

/** A member of every error of the SDK 1.x. */
const brand = Symbol.for("@a2a-js/sdk.A2AError");

/**
 * Translates an error of the SDK: those of 1.x by their reason, those of 0.3 by their JSON-RPC code. Anything else is
 * returned as it is.
 */
export function translateError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof A2AError) return error;
  const code = findCode(error);
  if (code === undefined) return error;
  const sdkMetadata = Reflect.get(error, "metadata");
  const metadata = isRecord(sdkMetadata) ? Object.entries(sdkMetadata).map(([key, value]) => [key, String(value)]) : [];
  return new A2AError(code, error.message, { cause: error, metadata: Object.fromEntries(metadata) });
}

function findCode(error: Error): ErrorCode | undefined {
  const reason: unknown = Reflect.get(error, "reason");
  const code = typeof reason === "string" ? errorCodeFromReason(reason) : undefined;
  if (code !== undefined) return code;
  if (brand in error) return "internalError";
  return errorCodeFromJsonRpc(Reflect.get(error, "code"));
}
