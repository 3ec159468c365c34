import type { AuthCall, SchemeEnvironment } from "trivium/auth";
import { silentLogger } from "../../../src/protocol/logger.js";

/** A call with these headers. */
export function callWith(
  headers: Readonly<Record<string, string>>,
  more: Partial<Pick<AuthCall, "query" | "certificate">> = {},
): AuthCall {
  return {
    binding: "JSONRPC",
    header: (name) => headers[name.toLowerCase()],
    query: () => undefined,
    certificate: () => undefined,
    ...more,
  };
}

const refuse = async (url: string): Promise<never> => {
  throw new Error(`${url} was called`);
};

/** An environment in which no other server may be called. */
export const unreachable: Omit<SchemeEnvironment, "clock"> = {
  fetch: refuse,
  foreignFetch: refuse,
  logger: silentLogger,
};
