import type { DescMessage, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { readJson } from "../../../protocol/codec/json/reader.js";
import { isJsonObject } from "../../../protocol/codec/outline/dynamic.js";
import { A2AError } from "../../../protocol/errors.js";
import { type StreamResponse, type Task, type TaskPushNotificationConfig, typeNames } from "../../../protocol/model.js";
import { findOperation, type OperationName, type ReplyOf, type RequestOf } from "../../../protocol/operations.js";
import { mustBe, violationText } from "../../../protocol/violations.js";
import { unreadableReply } from "../../codec-errors.js";
import type { CardForm } from "./card.js";
import { oldViolation } from "./paths.js";
import { upgradePushConfig } from "./request.js";
import { type UpgradeContext, upgradeEvent, upgradeTask } from "./upgrade.js";
import { eventToKindJson, taskPushConfigToKindJson, taskToKindJson } from "./write.js";

// The replies of the unary operations, in both directions.

interface ReplyForm<Q, R> {
  /** Throws `invalidAgentResponse` if the reply is unreadable. */
  read(json: JsonValue | undefined, request: Q | undefined): R;
  write(reply: R, request: Q): JsonValue;
}

export type ReplyForms = { readonly [K in OperationName]?: ReplyForm<RequestOf<K>, ReplyOf<K>> };

/** Returns the converters of all replies that these versions have. */
export function replyForms(cards: CardForm): ReplyForms {
  return {
    sendMessage: { read: readSendReply, write: writeSendReply },
    getTask: { read: (json) => readTask("getTask", json), write: taskToKindJson },
    cancelTask: { read: (json) => readTask("cancelTask", json), write: taskToKindJson },
    createTaskPushNotificationConfig: {
      read: (json, request) => readConfig("createTaskPushNotificationConfig", json, request?.taskId),
      write: taskPushConfigToKindJson,
    },
    getTaskPushNotificationConfig: {
      read: (json, request) => readConfig("getTaskPushNotificationConfig", json, request?.taskId),
      write: taskPushConfigToKindJson,
    },
    listTaskPushNotificationConfigs: {
      read: (json, request) => readConfigs(json, request?.taskId),
      write: ({ configs }) => configs.map(taskPushConfigToKindJson),
    },
    deleteTaskPushNotificationConfig: { read: () => ({ $typeName: "google.protobuf.Empty" }), write: () => null },
    getExtendedAgentCard: {
      read: (json) => cards.readCard(json),
      write(card) {
        const json = cards.writeCard(card);
        if (json !== undefined) return json;
        throw new A2AError("extendedAgentCardNotConfigured", "the extended card lists no interface of this version");
      },
    },
  };
}

function readSendReply(json: JsonValue | undefined): ReplyOf<"sendMessage"> {
  const { payload } = readEvent("sendMessage", json) ?? {};
  if (payload?.case === "task" || payload?.case === "message") {
    return { $typeName: typeNames.SendMessageResponse, payload };
  }
  throw unreadableReply("sendMessage", "it is neither a task nor a message");
}

function writeSendReply({ payload }: ReplyOf<"sendMessage">): JsonValue {
  return eventToKindJson({ $typeName: typeNames.StreamResponse, payload });
}

/** Reads an event or the reply to a send. Returns `undefined` for an unknown kind. */
export function readEvent(name: OperationName, json: JsonValue | undefined): StreamResponse | undefined {
  const { output } = findOperation("sendStreamingMessage");
  const context = lenientContext();
  if (!isJsonObject(json)) throw unreadableReply(name, mustBe("an object", json));
  const event = upgradeEvent(json, context);
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
