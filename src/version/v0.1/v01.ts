import type { JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { findOperation, type Operation, type OperationName } from "../../protocol/operations.js";
import { defaultValidationLimits } from "../../protocol/validation-limits.js";
import type { JsonRpcAdapter, Version } from "../codec.js";
import type { VersionOptions } from "../options.js";
import { callV01 } from "./calls.js";
import { readCard, writeCard } from "./card.js";
import { v01Codecs } from "./codec.js";
import { errorFromJson, errorToJson } from "./errors.js";
import { pushAdapter } from "./push.js";
import { serveV01 } from "./serve.js";
import { V01StreamReader } from "./stream-reader.js";
import { V01StreamWriter } from "./stream-writer.js";

// Version 0.1, which predates version numbers: JSON-RPC only, task names chosen by callers, no message ids.

const name = "0.1";

/** The methods served, with the usual name of an operation first. Some 0.1 clients use the later names for push. */
const methodRows: readonly (readonly [method: string, operation: OperationName])[] = [
  ["tasks/send", "sendMessage"],
  ["tasks/sendSubscribe", "sendStreamingMessage"],
  ["tasks/get", "getTask"],
  ["tasks/cancel", "cancelTask"],
  ["tasks/resubscribe", "subscribeToTask"],
  ["tasks/pushNotification/set", "createTaskPushNotificationConfig"],
  ["tasks/pushNotification/get", "getTaskPushNotificationConfig"],
  ["tasks/pushNotificationConfig/set", "createTaskPushNotificationConfig"],
  ["tasks/pushNotificationConfig/get", "getTaskPushNotificationConfig"],
];

/** The method that a client calls for an operation without its own method. */
const substituteMethods: { readonly [K in OperationName]?: string } = {
  listTaskPushNotificationConfigs: "tasks/pushNotification/get",
  deleteTaskPushNotificationConfig: "tasks/pushNotification/set",
};

const methods: ReadonlyMap<string, Operation> = new Map(
  methodRows.map(([method, operation]) => [method, findOperation(operation)]),
);

export function createV01({ limits = defaultValidationLimits }: VersionOptions = {}): Version {
  const jsonRpc: JsonRpcAdapter = {
    version: name,
    isImplied: true,
    declares: undefined,
    extensionsName: "X-A2A-Extensions",
    takesPartialEnvelopes: true,
    taskNamedBy,
    methods,
    findMethod: (operation) =>
      methodRows.find(([, operationName]) => operationName === operation.name)?.[0] ??
      substituteMethods[operation.name],
    codec: v01Codecs(limits),
    writeStream: (operation, request) => new V01StreamWriter(operation, request),
    readStream: (operation, request) => new V01StreamReader(operation, request),
    writeError: errorToJson,
    readError: errorFromJson,
    serve: serveV01,
    call: (transport) => callV01(transport),
  };
  return { name, jsonRpc, push: pushAdapter, writeCard, readCard };
}

function taskNamedBy(params: JsonValue | undefined): string | undefined {
  const id = isJsonObject(params) ? params["id"] : undefined;
  return typeof id === "string" && id !== "" ? id : undefined;
}
