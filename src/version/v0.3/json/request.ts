import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../protocol/codec/outline/dynamic.js";
import type { SendMessageRequest } from "../../../protocol/model.js";
import type { OperationName, RequestOf } from "../../../protocol/operations.js";
import { mustBe } from "../../../protocol/violations.js";
import { complain, copyMembers, type Lift, liftMessage, liftUnder } from "./upgrade.js";
import { kindOfMessage, kindOfPushConfig, kindOfTaskPushConfig } from "./write.js";

// The parameters of each operation, both ways. An operation that is not here is one that these versions lack.

/** Parameters of one operation. */
interface ParamsForm<R> {
  /** Makes them the JSON of the model's request. */
  lift(params: JsonValue, run: Lift): JsonValue;
  /** `undefined`: there are none. */
  write(request: R): JsonObject | undefined;
  /** Fields that the model requires and these versions do not. */
  readonly optional?: readonly string[];
}

export type ParamsForms = { readonly [K in OperationName]?: ParamsForm<RequestOf<K>> };

const send: ParamsForm<SendMessageRequest> = { lift: liftSend, write: writeSend };

export const paramsForms: ParamsForms = {
  sendMessage: send,
  sendStreamingMessage: send,
  getTask: {
    lift: picks({ id: "id", historyLength: "historyLength" }),
    write: ({ id, historyLength }) => (historyLength === undefined ? { id } : { id, historyLength }),
  },
  cancelTask: {
    lift: picks({ id: "id", metadata: "metadata" }),
    write: ({ id, metadata }) => (metadata === undefined ? { id } : { id, metadata }),
  },
  subscribeToTask: { lift: picks({ id: "id" }), write: ({ id }) => ({ id }) },
  createTaskPushNotificationConfig: { lift: liftSetConfig, write: kindOfTaskPushConfig },
  getTaskPushNotificationConfig: {
    lift: picks({ id: "taskId", pushNotificationConfigId: "id" }),
    // Versions before 0.2.5 know one configuration of a task, and no id of it.
    write: ({ taskId, id }) => (id === "" ? { id: taskId } : { id: taskId, pushNotificationConfigId: id }),
    optional: ["id"],
  },
  listTaskPushNotificationConfigs: { lift: picks({ id: "taskId" }), write: ({ taskId }) => ({ id: taskId }) },
  deleteTaskPushNotificationConfig: {
    lift: picks({ id: "taskId", pushNotificationConfigId: "id" }),
    write: ({ taskId, id }) => ({ id: taskId, pushNotificationConfigId: id }),
  },
  getExtendedAgentCard: { lift: picks({}), write: () => undefined },
};

/** Takes members under their names in the model. */
function picks(names: Readonly<Record<string, string>>): ParamsForm<never>["lift"] {
  return (params) => {
    if (!isJsonObject(params)) return params;
    const lifted: JsonObject = {};
    for (const [name, own] of Object.entries(names)) {
      const value = params[name];
      if (value !== undefined && value !== null) lifted[own] = value;
    }
    return lifted;
  };
}

function liftSend(params: JsonValue, run: Lift): JsonValue {
  if (!isJsonObject(params)) return params;
  const { message, messageId, configuration } = params;
  const lifted = copyMembers(params, ["metadata"]);
  if ((message ?? null) !== null) {
    const whole = isJsonObject(message)
      ? { ...message, messageId: message["messageId"] ?? messageId ?? null }
      : message;
    lifted["message"] = liftUnder(run, "message", () => liftMessage(whole ?? null, run, "user"));
  }
  if ((configuration ?? null) !== null) {
    lifted["configuration"] = liftUnder(run, "configuration", () => liftConfiguration(configuration ?? null, run));
  }
  return lifted;
}

function liftConfiguration(json: JsonValue, run: Lift): JsonValue {
  if (!isJsonObject(json)) return json;
  const { blocking, pushNotificationConfig } = json;
  const lifted = copyMembers(json, ["acceptedOutputModes", "historyLength"]);
  if (typeof blocking === "boolean") lifted["returnImmediately"] = !blocking;
  else if ((blocking ?? null) !== null) complain(run, "blocking", mustBe("true or false", blocking));
  if ((pushNotificationConfig ?? null) !== null) {
    lifted["taskPushNotificationConfig"] = liftUnder(run, "pushNotificationConfig", () =>
      liftPushConfig(pushNotificationConfig ?? null, run),
    );
  }
  return lifted;
}

// Early peers name the task by `id`, as in all other calls.
function liftSetConfig(params: JsonValue, run: Lift): JsonValue {
  if (!isJsonObject(params)) return params;
  const { taskId, id, pushNotificationConfig: config } = params;
  if (!isJsonObject(config)) complain(run, "pushNotificationConfig", mustBe("an object", config));
  const lifted = liftUnder(run, "pushNotificationConfig", () => liftPushConfig(config ?? {}, run));
  return copyMembers({ taskId: taskId ?? id ?? null }, ["taskId"], isJsonObject(lifted) ? lifted : {});
}

/** A push configuration without its task. Of several authentication schemes the model holds one: the first. */
export function liftPushConfig(json: JsonValue, run: Lift): JsonValue {
  if (!isJsonObject(json)) return json;
  const lifted = copyMembers(json, ["id", "url", "token"]);
  const { authentication } = json;
  if ((authentication ?? null) === null) return lifted;
  if (!isJsonObject(authentication)) return { ...lifted, authentication: authentication ?? null };
  const { schemes, credentials } = authentication;
  const isList = Array.isArray(schemes);
  if (!isList && (schemes ?? null) !== null) complain(run, "authentication.schemes", mustBe("an array", schemes));
  // An empty list asks for nothing.
  if (isList && schemes.length === 0 && !run.lenient && (credentials ?? null) === null) return lifted;
  const scheme = isList ? schemes[0] : undefined;
  lifted["authentication"] = copyMembers({ scheme: scheme ?? null, credentials: credentials ?? null }, [
    "scheme",
    "credentials",
  ]);
  return lifted;
}

// `blocking` is always said: peers differ in what they take its absence for. So are the output modes, which versions up to
// 0.2.5 require.
function writeSend({ message, configuration, metadata }: SendMessageRequest): JsonObject {
  const written: JsonObject = {
    acceptedOutputModes: [...(configuration?.acceptedOutputModes ?? [])],
    blocking: configuration?.returnImmediately !== true,
  };
  if (configuration?.historyLength !== undefined) written["historyLength"] = configuration.historyLength;
  const push = configuration?.taskPushNotificationConfig;
  if (push !== undefined) written["pushNotificationConfig"] = kindOfPushConfig(push);
  const json: JsonObject = { configuration: written };
  if (message !== undefined) json["message"] = kindOfMessage(message, "user");
  if (metadata !== undefined) json["metadata"] = metadata;
  return json;
}
