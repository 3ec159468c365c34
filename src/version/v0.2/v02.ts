import type { JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import type { CallOptions } from "../../protocol/context.js";
import { A2AError, formatErrorMessage } from "../../protocol/errors.js";
import { typeNames } from "../../protocol/model.js";
import type { Operations, ReplyOf, RequestOf } from "../../protocol/operations.js";
import { defaultValidationLimits } from "../../protocol/validation-limits.js";
import type { JsonRpcAdapter, Version } from "../codec.js";
import type { VersionOptions } from "../options.js";
import { callV03 } from "../v0.3/call.js";
import { jsonRpcFromError } from "../v0.3/errors.js";
import { methodTable, jsonRpcAdapter as newerAdapter, taskMethods } from "../v0.3/json-rpc.js";
import { pushAdapter } from "../v0.3/push.js";
import { readCard, writeCard } from "./card.js";

// Version 0.2: the common subset of 0.2.0 to 0.2.6, emulating what the earlier of them lack. It has the objects and methods
// of 0.3 over JSON-RPC, except for the card, and for what is here.

type Transport = Operations<CallOptions>;

/** Creates version 0.2. */
export function createV02({ limits = defaultValidationLimits }: VersionOptions = {}): Version {
  const cards = { writeCard, readCard };
  return { name: "0.2", jsonRpc: jsonRpcAdapter(newerAdapter(limits, cards)), push: pushAdapter, ...cards };
}

const extendedCard = "agent/authenticatedExtendedCard";

/**
 * The JSON-RPC adapter of 0.2: the objects and methods of 0.3, except for the extended card, which is read by GET, and
 * its error.
 */
function jsonRpcAdapter(newer: JsonRpcAdapter): JsonRpcAdapter {
  return {
    ...newer,
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

/**
 * A transport to an agent that may be older than 0.2.5, which added listing and deleting push configurations. For older
 * agents, lists the task's only configuration and throws `unsupportedOperation` on delete.
 */
function callV02(transport: Transport): Transport {
  return {
    ...transport,
    listTaskPushNotificationConfigs: (request, options) =>
      transport.listTaskPushNotificationConfigs(request, options).catch((error: unknown) => {
        if (!isMissingMethod(error)) throw error;
        return listOne(transport, request, options);
      }),
    deleteTaskPushNotificationConfig: (request, options) =>
      transport.deleteTaskPushNotificationConfig(request, options).catch((error: unknown) => {
        if (!isMissingMethod(error)) throw error;
        throw new A2AError("unsupportedOperation", "the agent cannot delete push configurations", { cause: error });
      }),
  };
}

async function listOne(
  transport: Transport,
  { taskId, tenant }: RequestOf<"listTaskPushNotificationConfigs">,
  options: CallOptions,
): Promise<ReplyOf<"listTaskPushNotificationConfigs">> {
  const getRequest = { $typeName: typeNames.GetTaskPushNotificationConfigRequest, taskId, id: "", tenant } as const;
  const configs = await transport.getTaskPushNotificationConfig(getRequest, options).then(
    (config) => [config],
    (error: unknown) => {
      if (isMissingConfig(error)) return [];
      throw error;
    },
  );
  return { $typeName: typeNames.ListTaskPushNotificationConfigsResponse, configs, nextPageToken: "" };
}

function isMissingMethod(error: unknown): boolean {
  return error instanceof A2AError && error.code === "methodNotFound";
}

// These versions have no error for this, so servers send an internal error and name the cause in its text.
function isMissingConfig(error: unknown): boolean {
  if (!(error instanceof A2AError)) return false;
  return error.code === "taskNotFound" || (error.code === "internalError" && /not found/i.test(error.message));
}
