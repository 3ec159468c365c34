import type { JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { A2AError, formatErrorMessage } from "../../protocol/errors.js";
import type { ValidationLimits } from "../../protocol/validation-limits.js";
import type { JsonRpcAdapter } from "../codec.js";
import { callV03 } from "../v0.3/call.js";
import { jsonRpcFromError } from "../v0.3/errors.js";
import type { CardForm } from "../v0.3/json/codec.js";
import { methodTable, jsonRpcAdapter as newerAdapter, taskMethods } from "../v0.3/json-rpc.js";
import { callV02 } from "./call.js";

const extendedCard = "agent/authenticatedExtendedCard";

/**
 * The JSON-RPC adapter of 0.2: the objects and methods of 0.3, except for the extended card, which is read by GET, and
 * its error.
 */
export function jsonRpcAdapter(limits: ValidationLimits, cards: CardForm): JsonRpcAdapter {
  return {
    ...newerAdapter(limits, cards),
    version: "0.2",
    declares: undefined,
    ...methodTable(taskMethods),
    isFromOlder,
    extendedCardPath: `/${extendedCard}`,
    extendedCardUrl,
    writeError(error, operation) {
      if (error.code !== "extendedAgentCardNotConfigured") return jsonRpcFromError(error, operation);
      return jsonRpcFromError(
        new A2AError("unsupportedOperation", formatErrorMessage("unsupportedOperation", error.message)),
        operation,
      );
    },
    call: (transport) => callV02(callV03(transport)),
  };
}

// Tasks and events of 0.1 have an `id` but no `kind` and no context.
function isFromOlder(result: JsonValue): boolean {
  if (!isJsonObject(result)) return false;
  const has = (name: string): boolean => (result[name] ?? null) !== null;
  return ["status", "artifact"].some(has) && !["kind", "contextId", "taskId"].some(has);
}

/** Replaces the last segment of the agent's path with the card's path. */
function extendedCardUrl(url: string): string {
  const { href } = new URL(extendedCard, url);
  return href;
}
