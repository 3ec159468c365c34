import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import type { OperationName } from "../../protocol/operations.js";
import { addViolation, mustBe, prefixMember } from "../../protocol/violations.js";
import { pick, type UpgradeContext, upgradeMessage } from "./read-objects.js";
import { toMediaType } from "./words.js";

// Params of 0.1 → the requests of 1.0, and field names of 1.0 → those of 0.1, for violations.

/** Params of an operation → its request, in the JSON of 1.0. */
type UpgradeParams = (params: JsonObject, context: UpgradeContext) => JsonObject;

/** Returns the conversion of an operation's params, or `undefined` if 0.1 lacks the operation. */
export function findUpgrade(operation: OperationName): UpgradeParams | undefined {
  return upgrades[operation];
}

const upgrades: { readonly [K in OperationName]?: UpgradeParams } = {
  sendMessage: upgradeSend,
  sendStreamingMessage: upgradeSend,
  // No history unless requested.
  getTask: (params) => ({ id: readId(params), historyLength: params["historyLength"] ?? 0 }),
  cancelTask: (params) => ({ id: readId(params), ...pick(params, ["metadata"]) }),
  subscribeToTask: (params) => ({ id: readId(params) }),
  createTaskPushNotificationConfig: upgradeSet,
  getTaskPushNotificationConfig: upgradeOwnConfig,
  listTaskPushNotificationConfigs: (params) => ({ taskId: readId(params) }),
  deleteTaskPushNotificationConfig: upgradeOwnConfig,
};

// A missing id is left for the reader of 1.0's JSON to report.
function readId(params: JsonObject): JsonValue {
  return params["id"] ?? params["taskId"] ?? null;
}

function upgradeSend(params: JsonObject, context: UpgradeContext): JsonObject {
  const { violations } = context;
  const before = violations.length;
  const id = readId(params);
  if (id === null || id === "") {
    addViolation(violations, "is required");
    prefixMember(violations, before, "id");
  }
  const ids = { taskId: id, contextId: params["sessionId"] ?? null };
  const from = violations.length;
  const message = upgradeMessage(params["message"] ?? null, context, ids);
  if (violations.length !== from) prefixMember(violations, from, "message");
  const push = params["pushNotification"] ?? null;
  const configuration: JsonObject = {
    historyLength: params["historyLength"] ?? 0,
    acceptedOutputModes: upgradeModes(params["acceptedOutputModes"] ?? null),
    ...(push === null
      ? {}
      : { taskPushNotificationConfig: upgradePushConfig(push, "pushNotification", { id, context }) }),
  };
  return { ...pick(params, ["metadata"]), message, configuration };
}

function upgradeModes(modes: JsonValue): JsonValue {
  return Array.isArray(modes) ? [...new Set(modes.map(toMediaType))] : modes;
}

function upgradeSet(params: JsonObject, context: UpgradeContext): JsonObject {
  const id = readId(params);
  const { pushNotificationConfig: config = {} } = params;
  const request = upgradePushConfig(config, "pushNotificationConfig", { id, context });
  if (isJsonObject(request)) return { ...request, taskId: id };
  const { violations } = context;
  const before = violations.length;
  addViolation(violations, mustBe("an object", config));
  prefixMember(violations, before, "pushNotificationConfig");
  return { taskId: id };
}

// A task has one configuration, whose id is the task's.
function upgradeOwnConfig(params: JsonObject): JsonObject {
  const id = readId(params);
  return { taskId: id, id };
}

interface ConfigOf {
  readonly id: JsonValue;
  readonly context: UpgradeContext;
}

/** Converts a push configuration; `name` is its path in the params. Returns non-objects unchanged. */
export function upgradePushConfig(json: JsonValue, name: string, { id, context }: ConfigOf): JsonValue {
  if (!isJsonObject(json)) return json;
  const config: JsonObject = { ...pick(json, ["url", "token"]), id };
  const authentication = json["authentication"] ?? null;
  if (!isJsonObject(authentication)) return authentication === null ? config : { ...config, authentication };
  const { violations } = context;
  const schemes = authentication["schemes"] ?? [];
  if (!Array.isArray(schemes)) {
    const before = violations.length;
    addViolation(violations, mustBe("an array", schemes));
    prefixMember(violations, before, `${name}.authentication.schemes`);
    return config;
  }
  const [scheme = null] = schemes;
  // An empty `authentication` means none.
  if (scheme === null && (authentication["credentials"] ?? null) === null) return config;
  return { ...config, authentication: { ...pick(authentication, ["credentials"]), scheme } };
}

const sendRenames: readonly (readonly [field: RegExp, oldName: string])[] = [
  [/^message\.taskId$/, "id"],
  [/^message\.contextId$/, "sessionId"],
  [/^configuration\.taskPushNotificationConfig\.id$/, "id"],
  [/^configuration\.taskPushNotificationConfig/, "pushNotification"],
  [/^configuration\./, ""],
  [/(parts\[\d+\])\.raw$/, "$1.file.bytes"],
  [/(parts\[\d+\])\.url$/, "$1.file.uri"],
  [/(parts\[\d+\])\.filename$/, "$1.file.name"],
  [/(parts\[\d+\])\.mediaType$/, "$1.file.mimeType"],
  [/authentication\.scheme$/, "authentication.schemes[0]"],
];

const setRenames: typeof sendRenames = [
  [/^(?=url|token|authentication)/, "pushNotificationConfig."],
  [/authentication\.scheme$/, "authentication.schemes[0]"],
  [/^taskId$/, "id"],
];

const renames: { readonly [K in OperationName]?: typeof sendRenames } = {
  sendMessage: sendRenames,
  sendStreamingMessage: sendRenames,
  createTaskPushNotificationConfig: setRenames,
  getTaskPushNotificationConfig: [[/^taskId$/, "id"]],
};

/** Returns the 0.1 name of a field that violates a rule of 1.0. Names of 0.1 stay unchanged. */
export function oldField(operation: OperationName, field: string): string {
  return (renames[operation] ?? []).reduce((name, [pattern, oldName]) => name.replace(pattern, oldName), field);
}
