import type { Message as AnyMessage } from "@bufbuild/protobuf";
import {
  type AgentCard,
  type ListTaskPushNotificationConfigsResponse,
  type SendMessageResponse,
  type Task,
  type TaskPushNotificationConfig,
  typeNames,
} from "../../../protocol/model.js";
import type { OperationName } from "../../../protocol/operations.js";
import { readWireCard, writeWireCard } from "./card.js";
import {
  type WireCard,
  type WireConfigs,
  type WireSendResponse,
  type WireTask,
  type WireTaskConfig,
  wireTypeNames,
} from "./model.js";
import type { Reading, WireForm } from "./parts.js";
import { readTaskConfig, writeTaskConfig } from "./push.js";
import type { Translation } from "./requests.js";
import { readMessage, readTask, writeMessage, writeTask } from "./task.js";

const task: Translation<WireTask, Task> = { read: readTask, write: writeTask };

const sendReply: Translation<WireSendResponse, SendMessageResponse> = {
  read: ({ payload }, reading) => ({
    $typeName: typeNames.SendMessageResponse,
    payload: readPayload(payload, reading),
  }),
  write: ({ payload }, form) => ({
    $typeName: wireTypeNames.SendMessageResponse,
    payload: writePayload(payload, form),
  }),
};

function readPayload(payload: WireSendResponse["payload"], reading: Reading): SendMessageResponse["payload"] {
  if (payload.case === "task") return { case: "task", value: readTask(payload.value, reading) };
  return payload.case === "msg" ? { case: "message", value: readMessage(payload.value, reading) } : { case: undefined };
}

function writePayload(payload: SendMessageResponse["payload"], form: WireForm): WireSendResponse["payload"] {
  if (payload.case === "task") return { case: "task", value: writeTask(payload.value, form) };
  return payload.case === "message" ? { case: "msg", value: writeMessage(payload.value, form) } : { case: undefined };
}

const config: Translation<WireTaskConfig, TaskPushNotificationConfig> = {
  read: readTaskConfig,
  write: writeTaskConfig,
};

const configs: Translation<WireConfigs, ListTaskPushNotificationConfigsResponse> = {
  read: ({ configs: wires, nextPageToken }) => ({
    $typeName: typeNames.ListTaskPushNotificationConfigsResponse,
    configs: wires.map(readTaskConfig),
    nextPageToken,
  }),
  write: ({ configs: models, nextPageToken }) => ({
    $typeName: wireTypeNames.ListTaskPushNotificationConfigResponse,
    configs: models.map(writeTaskConfig),
    nextPageToken,
  }),
};

const card: Translation<WireCard, AgentCard> = { read: readWireCard, write: writeWireCard };

const identity: Translation = { read: (wire: AnyMessage) => wire, write: (message: AnyMessage) => message };

/** The replies of the operations in 0.3's schema. Events of streams are in `task.ts`. */
export const replyTranslations: { readonly [K in OperationName]?: Translation } = {
  sendMessage: sendReply,
  getTask: task,
  cancelTask: task,
  createTaskPushNotificationConfig: config,
  getTaskPushNotificationConfig: config,
  listTaskPushNotificationConfigs: configs,
  getExtendedAgentCard: card,
  deleteTaskPushNotificationConfig: identity,
};
