import type { Message as AnyMessage, DescMessage, JsonObject, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { validateRead } from "../../../protocol/check/validate.js";
import { readJson } from "../../../protocol/codec/json/reader.js";
import { isJsonObject } from "../../../protocol/codec/outline/dynamic.js";
import { A2AError, invalidParams } from "../../../protocol/errors.js";
import {
  type SendMessageRequest,
  type StreamResponse,
  type Task,
  type TaskPushNotificationConfig,
  typeNames,
} from "../../../protocol/model.js";
import {
  findOperation,
  type Operation,
  type OperationName,
  operations,
  type ReplyOf,
  type RequestOf,
} from "../../../protocol/operations.js";
import type { ValidationLimits } from "../../../protocol/validation-limits.js";
import { mergeViolations, mustBe, violationText } from "../../../protocol/violations.js";
import type { OperationCodec, Version } from "../../codec.js";
import { throwMissing, unreadableReply } from "../../codec-errors.js";
import { foreignNamesIn } from "../../foreign-names.js";
import { readCard, writeCard } from "../card.js";
import { withCamelNames } from "./names.js";
import { oldViolation } from "./paths.js";
import {
  copyMembers,
  noteViolation,
  type UpgradeContext,
  upgradeEvent,
  upgradeMember,
  upgradeMessage,
  upgradeTask,
} from "./upgrade.js";
import {
  eventToKindJson,
  messageToKindJson,
  pushConfigToKindJson,
  taskPushConfigToKindJson,
  taskToKindJson,
} from "./write.js";

// The JSON of 0.2 and 0.3, whose objects name their type in `kind`: the table of operations, then requests and replies in
// both directions. A request is upgraded to the JSON of 1.0 (`upgrade.ts`), which the reader of 1.0 checks; the violations get
// the names of kind-JSON. Replies of peers are read the same way, but leniently.

/** How a version writes its card. */
export type CardForm = Pick<Version, "writeCard" | "readCard">;

/** How an operation is read and written. */
interface Row<Q, R> {
  /** Converts the parameters to the JSON of the model's request. */
  upgrade(params: JsonValue, context: UpgradeContext): JsonValue;
  /** Returns `undefined` if there are no parameters. */
  writeRequest(request: Q): JsonObject | undefined;
  /** Fields that the model requires and these versions do not. */
  readonly optional?: readonly string[];
  /** Throws `invalidAgentResponse` if the reply is unreadable. A stream has no reply. */
  readReply?(json: JsonValue | undefined, request: Q | undefined): R;
  writeReply?(reply: R, request: Q): JsonValue;
}

type Rows = { readonly [K in OperationName]?: Row<RequestOf<K>, ReplyOf<K>> };

/** The operations of these versions. */
function operationRows(cards: CardForm): Rows {
  return {
    sendMessage: {
      upgrade: upgradeSend,
      writeRequest: writeSend,
      readReply: readSendReply,
      writeReply: ({ payload }) => eventToKindJson({ $typeName: typeNames.StreamResponse, payload }),
    },
    sendStreamingMessage: { upgrade: upgradeSend, writeRequest: writeSend },
    getTask: {
      upgrade: copyAs({ id: "id", historyLength: "historyLength" }),
      writeRequest: ({ id, historyLength }) => (historyLength === undefined ? { id } : { id, historyLength }),
      readReply: (json) => readTask("getTask", json),
      writeReply: taskToKindJson,
    },
    cancelTask: {
      upgrade: copyAs({ id: "id", metadata: "metadata" }),
      writeRequest: ({ id, metadata }) => (metadata === undefined ? { id } : { id, metadata }),
      readReply: (json) => readTask("cancelTask", json),
      writeReply: taskToKindJson,
    },
    subscribeToTask: { upgrade: copyAs({ id: "id" }), writeRequest: ({ id }) => ({ id }) },
    createTaskPushNotificationConfig: {
      upgrade: upgradeSetConfig,
      writeRequest: taskPushConfigToKindJson,
      readReply: (json, request) => readConfig("createTaskPushNotificationConfig", json, request?.taskId),
      writeReply: taskPushConfigToKindJson,
    },
    getTaskPushNotificationConfig: {
      upgrade: copyAs({ id: "taskId", pushNotificationConfigId: "id" }),
      // Before 0.2.5 a task has one configuration, without an id.
      writeRequest: ({ taskId, id }) => (id === "" ? { id: taskId } : { id: taskId, pushNotificationConfigId: id }),
      optional: ["id"],
      readReply: (json, request) => readConfig("getTaskPushNotificationConfig", json, request?.taskId),
      writeReply: taskPushConfigToKindJson,
    },
    listTaskPushNotificationConfigs: {
      upgrade: copyAs({ id: "taskId" }),
      writeRequest: ({ taskId }) => ({ id: taskId }),
      readReply: (json, request) => readConfigs(json, request?.taskId),
      writeReply: ({ configs }) => configs.map(taskPushConfigToKindJson),
    },
    deleteTaskPushNotificationConfig: {
      upgrade: copyAs({ id: "taskId", pushNotificationConfigId: "id" }),
      writeRequest: ({ taskId, id }) => ({ id: taskId, pushNotificationConfigId: id }),
      readReply: () => ({ $typeName: "google.protobuf.Empty" }),
      writeReply: () => null,
    },
    getExtendedAgentCard: {
      upgrade: copyAs({}),
      writeRequest: () => undefined,
      readReply: (json) => cards.readCard(json),
      writeReply(card) {
        const json = cards.writeCard(card);
        if (json !== undefined) return json;
        throw new A2AError("extendedAgentCardNotConfigured", "the extended card lists no interface of this version");
      },
    },
  };
}

/**
 * Creates the kind-JSON codecs of all operations. `cards` is the form of the extended card; default: that of 0.3. The
 * codec of an operation that these versions lack throws `unsupportedOperation`, and streaming operations have no reply
 * codec.
 */
export function kindJsonCodecs(
  limits: ValidationLimits,
  cards: CardForm = { writeCard, readCard },
): (operation: Operation) => OperationCodec {
  // Without the types of each operation, which a loop over all of them cannot preserve.
  const rows = operationRows(cards) as { readonly [K in OperationName]?: Row<AnyMessage, AnyMessage> };
  const codecs = new Map(
    operations.map((operation) => [operation.name, createCodec(operation, rows[operation.name], limits)]),
  );
  return ({ name }) => codecs.get(name) ?? throwMissing(name);
}

function createCodec(
  operation: Operation,
  row: Row<AnyMessage, AnyMessage> | undefined,
  limits: ValidationLimits,
): OperationCodec {
  const { name } = operation;
  return {
    readRequest: (json) => readRequest(operation, row ?? throwMissing(name), json, limits),
    writeRequest: (request) => (row ?? throwMissing(name)).writeRequest(request),
    readReply: (json, request) => (row?.readReply ?? throwMissing(name))(json, request),
    writeReply: (reply, request) => (row?.writeReply ?? throwMissing(name))(reply, request),
  };
}

// Requests.

function readRequest(
  { name, input }: Operation,
  { upgrade, optional = [] }: Row<AnyMessage, AnyMessage>,
  json: JsonValue | undefined,
  limits: ValidationLimits,
): AnyMessage {
  const context: UpgradeContext = { lenient: false, violations: [] };
  const params = withCamelNames(json ?? {});
  const requestJson = upgrade(params, context);
  const { message, violations } = readJson(input, requestJson, { maxDepth: limits.jsonDepthMax });
  const modelViolations = validateRead(input, message, limits);
  const invalid = modelViolations.filter(
    ({ field, description }) => !(optional.includes(field) && description === "is required"),
  );
  const foreign = foreignNamesIn("0.3", name, params);
  if (context.violations.length + violations.length + invalid.length + foreign.length === 0) return message;
  const oldViolations = mergeViolations(violations, invalid).map((violation) => oldViolation(violation, name));
  throw invalidParams(...foreign, ...mergeViolations(context.violations, oldViolations));
}

/** Copies members under their names in the model. */
function copyAs(names: Readonly<Record<string, string>>): Row<never, never>["upgrade"] {
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
function upgradePushConfig(json: JsonValue, context: UpgradeContext): JsonValue {
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

// Replies, and the events of streams.

function readSendReply(json: JsonValue | undefined): ReplyOf<"sendMessage"> {
  const { payload } = readEvent("sendMessage", json) ?? {};
  if (payload?.case === "task" || payload?.case === "message") {
    return { $typeName: typeNames.SendMessageResponse, payload };
  }
  throw unreadableReply("sendMessage", "it is neither a task nor a message");
}

/** Reads an event or the reply to a send. Returns `undefined` for an unknown kind. */
export function readEvent(name: OperationName, json: JsonValue | undefined): StreamResponse | undefined {
  const { output } = findOperation("sendStreamingMessage");
  if (!isJsonObject(json)) throw unreadableReply(name, mustBe("an object", json));
  const event = upgradeEvent(json, lenientContext());
  return event === undefined ? undefined : (readModelJson(name, output, event) as StreamResponse);
}

function readTask(name: "getTask" | "cancelTask", json: JsonValue | undefined): Task {
  if (!isJsonObject(json)) throw unreadableReply(name, mustBe("an object", json));
  const { kind } = json;
  if ((kind ?? "task") !== "task") throw unreadableReply(name, "kind must be task");
  return readModelJson(name, findOperation(name).output, upgradeTask(json, lenientContext())) as Task;
}

type ConfigOperation = "createTaskPushNotificationConfig" | "getTaskPushNotificationConfig";

// Some peers reply with the bare configuration.
function readConfig(
  name: ConfigOperation,
  json: JsonValue | undefined,
  task: string | undefined,
): TaskPushNotificationConfig {
  if (!isJsonObject(json)) throw unreadableReply(name, mustBe("an object", json));
  const { taskId, pushNotificationConfig: config } = json;
  const bareConfig = "url" in json ? json : undefined;
  const givenConfig = isJsonObject(config) ? config : bareConfig;
  if (givenConfig === undefined) throw unreadableReply(name, `pushNotificationConfig ${mustBe("an object", config)}`);
  const modelConfig = upgradePushConfig(givenConfig, lenientContext());
  const wholeConfig = { ...(isJsonObject(modelConfig) ? modelConfig : {}), taskId: taskId ?? task ?? "" };
  return readModelJson(name, findOperation(name).output, wholeConfig) as TaskPushNotificationConfig;
}

function readConfigs(
  json: JsonValue | undefined,
  task: string | undefined,
): ReplyOf<"listTaskPushNotificationConfigs"> {
  if (!Array.isArray(json)) throw unreadableReply("listTaskPushNotificationConfigs", mustBe("an array", json));
  return {
    $typeName: typeNames.ListTaskPushNotificationConfigsResponse,
    configs: json.map((entry) => readConfig("getTaskPushNotificationConfig", entry, task)),
    nextPageToken: "",
  };
}

function readModelJson<Desc extends DescMessage>(name: OperationName, desc: Desc, json: JsonValue): MessageShape<Desc> {
  const { message, violations } = readJson(desc, json, { lenient: true });
  const [violation] = violations;
  if (violation !== undefined) throw unreadableReply(name, violationText(oldViolation(violation, name)));
  return message;
}

function lenientContext(): UpgradeContext {
  return { lenient: true, violations: [] };
}
