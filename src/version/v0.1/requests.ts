import type { JsonObject } from "@bufbuild/protobuf";
import type {
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  SendMessageRequest,
  SubscribeToTaskRequest,
  TaskPushNotificationConfig,
} from "../../protocol/model.js";
import { modesOfMediaType } from "./words.js";
import { messageToJson, pushConfigToJson } from "./write-objects.js";

// Requests of the model → params of 0.1.

/** A length that covers any history: 0.1 returns none unless a number is given. */
const allHistory = 1_000;

export function sendToParams({ message, configuration, metadata }: SendMessageRequest): JsonObject {
  const { acceptedOutputModes = [], historyLength = 0, taskPushNotificationConfig: config } = configuration ?? {};
  const modes = [...new Set(acceptedOutputModes.flatMap(modesOfMediaType))];
  const params: JsonObject = { id: message?.taskId ?? "" };
  if (message !== undefined && message.contextId !== "") params["sessionId"] = message.contextId;
  if (message !== undefined) params["message"] = messageToJson(message);
  if (modes.length > 0) params["acceptedOutputModes"] = modes;
  if (config !== undefined) params["pushNotification"] = pushConfigToJson(config);
  if (historyLength !== 0) params["historyLength"] = historyLength;
  if (metadata !== undefined) params["metadata"] = metadata;
  return params;
}

export function getToParams({ id, historyLength = allHistory }: GetTaskRequest): JsonObject {
  return historyLength === 0 ? { id } : { id, historyLength };
}

export function cancelToParams({ id, metadata }: CancelTaskRequest): JsonObject {
  return metadata === undefined ? { id } : { id, metadata };
}

export function subscribeToParams({ id }: SubscribeToTaskRequest): JsonObject {
  return { id };
}

/** A configuration with its task, as a request sets it and replies have it. */
export function configToJson(config: TaskPushNotificationConfig): JsonObject {
  return { id: config.taskId, pushNotificationConfig: pushConfigToJson(config) };
}

export function configToParams({
  taskId,
}: GetTaskPushNotificationConfigRequest | ListTaskPushNotificationConfigsRequest): JsonObject {
  return { id: taskId };
}

/** 0.1 has no delete; setting `null` has the same effect. */
export function deleteToParams({ taskId }: DeleteTaskPushNotificationConfigRequest): JsonObject {
  return { id: taskId, pushNotificationConfig: null };
}
