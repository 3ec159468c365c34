import { findOperation, type Operation, type OperationName } from "../../protocol/operations.js";
import type { ValidationLimits } from "../../protocol/validation-limits.js";
import type { JsonRpcAdapter } from "../codec.js";
import { callV03 } from "./call.js";
import { errorFromJsonRpc, jsonRpcFromError } from "./errors.js";
import { type CardForm, kindJsonCodecs } from "./json/codec.js";
import { kindJsonStreamReader, kindJsonStreamWriter } from "./json/stream.js";
import { serveV03 } from "./serve.js";

/** Method names that 0.2 shares. */
export const taskMethods: readonly (readonly [method: string, operation: OperationName])[] = [
  ["message/send", "sendMessage"],
  ["message/stream", "sendStreamingMessage"],
  ["tasks/get", "getTask"],
  ["tasks/cancel", "cancelTask"],
  ["tasks/resubscribe", "subscribeToTask"],
  ["tasks/pushNotificationConfig/set", "createTaskPushNotificationConfig"],
  ["tasks/pushNotificationConfig/get", "getTaskPushNotificationConfig"],
  ["tasks/pushNotificationConfig/list", "listTaskPushNotificationConfigs"],
  ["tasks/pushNotificationConfig/delete", "deleteTaskPushNotificationConfig"],
];

const allMethods: typeof taskMethods = [
  ...taskMethods,
  ["agent/getAuthenticatedExtendedCard", "getExtendedAgentCard"],
  // The spelling of one section of the specification and of early clients.
  ["agent/authenticatedExtendedCard", "getExtendedAgentCard"],
];

/** Maps methods to operations and back. Clients call the first name of an operation. */
export function methodTable(rows: typeof taskMethods): Pick<JsonRpcAdapter, "methods" | "findMethod"> {
  const names = new Map<OperationName, string>();
  for (const [method, operation] of rows) if (!names.has(operation)) names.set(operation, method);
  return {
    methods: new Map<string, Operation>(rows.map(([method, operation]) => [method, findOperation(operation)])),
    findMethod: ({ name }) => names.get(name),
  };
}

/** The JSON-RPC adapter of 0.3. `cards` overrides the form of the extended card. */
export function jsonRpcAdapter(limits: ValidationLimits, cards?: CardForm): JsonRpcAdapter {
  return {
    version: "0.3",
    isImplied: true,
    declares: "0.3",
    extensionsName: "X-A2A-Extensions",
    takesPartialEnvelopes: true,
    ...methodTable(allMethods),
    codec: kindJsonCodecs(limits, cards),
    writeStream: kindJsonStreamWriter,
    readStream: kindJsonStreamReader,
    writeError: jsonRpcFromError,
    readError: errorFromJsonRpc,
    serve: serveV03,
    call: callV03,
  };
}
