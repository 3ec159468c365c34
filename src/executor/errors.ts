import { A2AError, type ErrorCode, errorCodeFromReason, errorCodes, errorTable } from "../protocol/errors.js";
import { isRecord } from "./objects.js";

/** What every error of the SDK 1.x carries. */
const brand = Symbol.for("@a2a-js/sdk.A2AError");

/**
 * Translates an error of the SDK: those of 1.x by their reason, those of 0.3 by their JSON-RPC code. Anything else is
 * returned as it is.
 */
export function translateError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof A2AError) return error;
  const code = codeOf(error);
  if (code === undefined) return error;
  const given = Reflect.get(error, "metadata");
  const metadata = isRecord(given) ? Object.entries(given).map(([key, value]) => [key, String(value)]) : [];
  return new A2AError(code, error.message, { cause: error, metadata: Object.fromEntries(metadata) });
}

function codeOf(error: Error): ErrorCode | undefined {
  const reason: unknown = Reflect.get(error, "reason");
  const known = typeof reason === "string" ? errorCodeFromReason(reason) : undefined;
  if (known !== undefined) return known;
  if (brand in error) return "internalError";
  const jsonRpc: unknown = Reflect.get(error, "code");
  return jsonRpc === errorTable.internalError.jsonRpc ? "internalError" : byJsonRpc.get(jsonRpc);
}

// Of the codes that several errors share, the first counts: the protocol's own.
const byJsonRpc: ReadonlyMap<unknown, ErrorCode> = new Map(
  errorCodes.map((code) => [errorTable[code].jsonRpc, code] as const).reverse(),
);
