import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../protocol/codec/outline/dynamic.js";
import type { SendMessageRequest } from "../../../protocol/model.js";
import type { OperationName, RequestOf } from "../../../protocol/operations.js";
import { mustBe } from "../../../protocol/violations.js";
import { complain, copyMembers, type Upgrade, upgradeMessage, upgradeUnder } from "./upgrade.js";
import { messageToKindJson, pushConfigToKindJson, taskPushConfigToKindJson } from "./write.js";

// The parameters of each operation, in both directions. These versions lack the operations that are missing here.

/** Parameters of one operation. */
interface ParamsForm<R> {
  /** Converts the parameters to the JSON of the model's request. */
  upgrade(params: JsonValue, run: Upgrade): JsonValue;
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
    upgrade: picks({ id: "id", historyLength: "historyLength" }),
    write: ({ id, historyLength }) => (historyLength === undefined ? { id } : { id, historyLength }),
  },
  cancelTask: {
    upgrade: picks({ id: "id", metadata: "metadata" }),
    write: ({ id, metadata }) => (metadata === undefined ? { id } : { id, metadata }),
  },
  subscribeToTask: { upgrade: picks({ id: "id" }), write: ({ id }) => ({ id }) },
  createTaskPushNotificationConfig: { upgrade: upgradeSetConfig, write: taskPushConfigToKindJson },
  getTaskPushNotificationConfig: {
    upgrade: picks({ id: "taskId", pushNotificationConfigId: "id" }),
    // Before 0.2.5 a task has one configuration, without an id.
    write: ({ taskId, id }) => (id === "" ? { id: taskId } : { id: taskId, pushNotificationConfigId: id }),
    optional: ["id"],
  },
  listTaskPushNotificationConfigs: { upgrade: picks({ id: "taskId" }), write: ({ taskId }) => ({ id: taskId }) },
  deleteTaskPushNotificationConfig: {
    upgrade: picks({ id: "taskId", pushNotificationConfigId: "id" }),
    write: ({ taskId, id }) => ({ id: taskId, pushNotificationConfigId: id }),
  },
  getExtendedAgentCard: { upgrade: picks({}), write: () => undefined },
};

/** Copies members under their names in the model. */
function picks(names: Readonly<Record<string, string>>): ParamsForm<never>["upgrade"] {
  return (params) => {
    if (!isJsonObject(params)) return params;
    const upgraded: JsonObject = {};
    for (const [name, own] of Object.entries(names)) {
      const value = params[name];
      if (value !== undefined && value !== null) upgraded[own] = value;
    }
    return upgraded;
  };
}

function upgradeSend(params: JsonValue, run: Upgrade): JsonValue {
  if (!isJsonObject(params)) return params;
  const { message, messageId, configuration } = params;
  const upgraded = copyMembers(params, ["metadata"]);
  if ((message ?? null) !== null) {
    const whole = isJsonObject(message)
      ? { ...message, messageId: message["messageId"] ?? messageId ?? null }
      : message;
    upgraded["message"] = upgradeUnder(run, "message", () => upgradeMessage(whole ?? null, run, "user"));
  }
  if ((configuration ?? null) !== null) {
    upgraded["configuration"] = upgradeUnder(run, "configuration", () =>
      upgradeConfiguration(configuration ?? null, run),
    );
  }
  return upgraded;
}

function upgradeConfiguration(json: JsonValue, run: Upgrade): JsonValue {
  if (!isJsonObject(json)) return json;
  const { blocking, pushNotificationConfig } = json;
  const upgraded = copyMembers(json, ["acceptedOutputModes", "historyLength"]);
  if (typeof blocking === "boolean") upgraded["returnImmediately"] = !blocking;
  else if ((blocking ?? null) !== null) complain(run, "blocking", mustBe("true or false", blocking));
  if ((pushNotificationConfig ?? null) !== null) {
    upgraded["taskPushNotificationConfig"] = upgradeUnder(run, "pushNotificationConfig", () =>
      upgradePushConfig(pushNotificationConfig ?? null, run),
    );
  }
  return upgraded;
}

// Early peers name the task `id`, as in all other calls.
function upgradeSetConfig(params: JsonValue, run: Upgrade): JsonValue {
  if (!isJsonObject(params)) return params;
  const { taskId, id, pushNotificationConfig: config } = params;
  if (!isJsonObject(config)) complain(run, "pushNotificationConfig", mustBe("an object", config));
  const upgraded = upgradeUnder(run, "pushNotificationConfig", () => upgradePushConfig(config ?? {}, run));
  return copyMembers({ taskId: taskId ?? id ?? null }, ["taskId"], isJsonObject(upgraded) ? upgraded : {});
}

/** Converts a push configuration without its task. The model holds one authentication scheme: the first. */
export function upgradePushConfig(json: JsonValue, run: Upgrade): JsonValue {
  if (!isJsonObject(json)) return json;
  const upgraded = copyMembers(json, ["id", "url", "token"]);
  const { authentication } = json;
  if ((authentication ?? null) === null) return upgraded;
  if (!isJsonObject(authentication)) return { ...upgraded, authentication: authentication ?? null };
  const { schemes, credentials } = authentication;
  const isList = Array.isArray(schemes);
  if (!isList && (schemes ?? null) !== null) complain(run, "authentication.schemes", mustBe("an array", schemes));
  // An empty list requests no authentication.
  if (isList && schemes.length === 0 && !run.lenient && (credentials ?? null) === null) return upgraded;
  const scheme = isList ? schemes[0] : undefined;
  upgraded["authentication"] = copyMembers({ scheme: scheme ?? null, credentials: credentials ?? null }, [
    "scheme",
    "credentials",
  ]);
  return upgraded;
}

// `blocking` is always written, since its default differs between peers. So are the output modes, which versions up to
// 0.2.5 require.
function writeSend({ message, configuration, metadata }: SendMessageRequest): JsonObject {
  const written: JsonObject = {
    acceptedOutputModes: [...(configuration?.acceptedOutputModes ?? [])],
    blocking: configuration?.returnImmediately !== true,
  };
  if (configuration?.historyLength !== undefined) written["historyLength"] = configuration.historyLength;
  const push = configuration?.taskPushNotificationConfig;
  if (push !== undefined) written["pushNotificationConfig"] = pushConfigToKindJson(push);
  const json: JsonObject = { configuration: written };
  if (message !== undefined) json["message"] = messageToKindJson(message, "user");
  if (metadata !== undefined) json["metadata"] = metadata;
  return json;
}
