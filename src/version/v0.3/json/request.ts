import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../protocol/codec/outline/dynamic.js";
import type { SendMessageRequest } from "../../../protocol/model.js";
import type { OperationName, RequestOf } from "../../../protocol/operations.js";
import { mustBe } from "../../../protocol/violations.js";
import { copyMembers, noteViolation, type UpgradeContext, upgradeMember, upgradeMessage } from "./upgrade.js";
import { messageToKindJson, pushConfigToKindJson, taskPushConfigToKindJson } from "./write.js";

// The parameters of each operation, in both directions. These versions lack the operations that are missing here.

/** Parameters of one operation. */
interface ParamsForm<R> {
  /** Converts the parameters to the JSON of the model's request. */
  upgrade(params: JsonValue, context: UpgradeContext): JsonValue;
  /** Returns `undefined` if there are no parameters. */
  write(request: R): JsonObject | undefined;
  /** Fields that the model requires and these versions do not. */
  readonly optional?: readonly string[];
}

export type ParamsForms = { readonly [K in OperationName]?: ParamsForm<RequestOf<K>> };

const send: ParamsForm<SendMessageRequest> = { upgrade: upgradeSend, write: writeSend };

export const paramsForms: ParamsForms = {
  sendMessage: send,
  sendStreamingMessage: send,
  getTask: {
    upgrade: copyAs({ id: "id", historyLength: "historyLength" }),
    write: ({ id, historyLength }) => (historyLength === undefined ? { id } : { id, historyLength }),
  },
  cancelTask: {
    upgrade: copyAs({ id: "id", metadata: "metadata" }),
    write: ({ id, metadata }) => (metadata === undefined ? { id } : { id, metadata }),
  },
  subscribeToTask: { upgrade: copyAs({ id: "id" }), write: ({ id }) => ({ id }) },
  createTaskPushNotificationConfig: { upgrade: upgradeSetConfig, write: taskPushConfigToKindJson },
  getTaskPushNotificationConfig: {
    upgrade: copyAs({ id: "taskId", pushNotificationConfigId: "id" }),
    // Before 0.2.5 a task has one configuration, without an id.
    write: ({ taskId, id }) => (id === "" ? { id: taskId } : { id: taskId, pushNotificationConfigId: id }),
    optional: ["id"],
  },
  listTaskPushNotificationConfigs: { upgrade: copyAs({ id: "taskId" }), write: ({ taskId }) => ({ id: taskId }) },
  deleteTaskPushNotificationConfig: {
    upgrade: copyAs({ id: "taskId", pushNotificationConfigId: "id" }),
    write: ({ taskId, id }) => ({ id: taskId, pushNotificationConfigId: id }),
  },
  getExtendedAgentCard: { upgrade: copyAs({}), write: () => undefined },
};

/** Copies members under their names in the model. */
function copyAs(names: Readonly<Record<string, string>>): ParamsForm<never>["upgrade"] {
  return (params) => {
    if (!isJsonObject(params)) return params;
    const result: JsonObject = {};
    for (const [name, modelName] of Object.entries(names)) {
      const value = params[name];
      if (value !== undefined && value !== null) result[modelName] = value;
    }
    return result;
  };
}

function upgradeSend(params: JsonValue, context: UpgradeContext): JsonValue {
  if (!isJsonObject(params)) return params;
  const { message, messageId, configuration } = params;
  const result = copyMembers(params, ["metadata"]);
  if ((message ?? null) !== null) {
    const messageWithId = isJsonObject(message)
      ? { ...message, messageId: message["messageId"] ?? messageId ?? null }
      : message;
    result["message"] = upgradeMember(context, "message", () => upgradeMessage(messageWithId ?? null, context, "user"));
  }
  if ((configuration ?? null) !== null) {
    result["configuration"] = upgradeMember(context, "configuration", () =>
      upgradeConfiguration(configuration ?? null, context),
    );
  }
  return result;
}

function upgradeConfiguration(json: JsonValue, context: UpgradeContext): JsonValue {
  if (!isJsonObject(json)) return json;
  const { blocking, pushNotificationConfig } = json;
  const result = copyMembers(json, ["acceptedOutputModes", "historyLength"]);
  if (typeof blocking === "boolean") result["returnImmediately"] = !blocking;
  else if ((blocking ?? null) !== null) noteViolation(context, "blocking", mustBe("true or false", blocking));
  if ((pushNotificationConfig ?? null) !== null) {
    result["taskPushNotificationConfig"] = upgradeMember(context, "pushNotificationConfig", () =>
      upgradePushConfig(pushNotificationConfig ?? null, context),
    );
  }
  return result;
}

// Early peers name the task `id`, as in all other calls.
function upgradeSetConfig(params: JsonValue, context: UpgradeContext): JsonValue {
  if (!isJsonObject(params)) return params;
  const { taskId, id, pushNotificationConfig: config } = params;
  if (!isJsonObject(config)) noteViolation(context, "pushNotificationConfig", mustBe("an object", config));
  const result = upgradeMember(context, "pushNotificationConfig", () => upgradePushConfig(config ?? {}, context));
  return copyMembers({ taskId: taskId ?? id ?? null }, ["taskId"], isJsonObject(result) ? result : {});
}

/** Converts a push configuration without its task. The model holds one authentication scheme: the first. */
export function upgradePushConfig(json: JsonValue, context: UpgradeContext): JsonValue {
  if (!isJsonObject(json)) return json;
  const result = copyMembers(json, ["id", "url", "token"]);
  const { authentication } = json;
  if ((authentication ?? null) === null) return result;
  if (!isJsonObject(authentication)) return { ...result, authentication: authentication ?? null };
  const { schemes, credentials } = authentication;
  const isList = Array.isArray(schemes);
  if (!isList && (schemes ?? null) !== null)
    noteViolation(context, "authentication.schemes", mustBe("an array", schemes));
  // An empty list requests no authentication.
  if (isList && schemes.length === 0 && !context.lenient && (credentials ?? null) === null) return result;
  const scheme = isList ? schemes[0] : undefined;
  result["authentication"] = copyMembers({ scheme: scheme ?? null, credentials: credentials ?? null }, [
    "scheme",
    "credentials",
  ]);
  return result;
}

// `blocking` is always written, since its default differs between peers. So are the output modes, which versions up to
// 0.2.5 require.
function writeSend({ message, configuration, metadata }: SendMessageRequest): JsonObject {
  const configJson: JsonObject = {
    acceptedOutputModes: [...(configuration?.acceptedOutputModes ?? [])],
    blocking: configuration?.returnImmediately !== true,
  };
  if (configuration?.historyLength !== undefined) configJson["historyLength"] = configuration.historyLength;
  const push = configuration?.taskPushNotificationConfig;
  if (push !== undefined) configJson["pushNotificationConfig"] = pushConfigToKindJson(push);
  const json: JsonObject = { configuration: configJson };
  if (message !== undefined) json["message"] = messageToKindJson(message, "user");
  if (metadata !== undefined) json["metadata"] = metadata;
  return json;
}
