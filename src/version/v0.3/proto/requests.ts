import type { Message as AnyMessage } from "@bufbuild/protobuf";
import {
  type CancelTaskRequest,
  type DeleteTaskPushNotificationConfigRequest,
  type GetTaskPushNotificationConfigRequest,
  type GetTaskRequest,
  type ListTaskPushNotificationConfigsRequest,
  type SendMessageConfiguration,
  type SendMessageRequest,
  type SubscribeToTaskRequest,
  type TaskPushNotificationConfig,
  typeNames,
} from "../../../protocol/model.js";
import type { OperationName } from "../../../protocol/operations.js";
import { prefixMember } from "../../../protocol/violations.js";
import {
  type WireConfigRequest,
  type WireConfiguration,
  type WireCreateRequest,
  type WireGetRequest,
  type WireListRequest,
  type WireSendRequest,
  wireTypeNames,
} from "./model.js";
import { configName, readConfigName, readTaskName, taskName } from "./names.js";
import type { Reading, WireForm } from "./parts.js";
import { readCreate, readPushConfig, writePushConfig, writeTaskConfig } from "./push.js";
import { readMessage, writeMessage } from "./task.js";

/** Converts between a message of 0.3's schema and one of the model. */
export interface Translation<W extends AnyMessage = AnyMessage, M extends AnyMessage = AnyMessage> {
  read(wire: W, reading: Reading): M;
  write(message: M, form: WireForm): W;
}

/** A request that identifies a task or push configuration only by its resource name. */
type NamedMessage = AnyMessage & { readonly name: string };

const send: Translation<WireSendRequest, SendMessageRequest> = {
  read({ request, configuration, metadata }, reading) {
    const model: SendMessageRequest = { $typeName: typeNames.SendMessageRequest, tenant: "" };
    if (request !== undefined) {
      const before = reading.violations.length;
      model.message = readMessage(request, reading);
      prefixMember(reading.violations, before, "message");
    }
    if (configuration !== undefined) model.configuration = readConfiguration(configuration);
    if (metadata !== undefined) model.metadata = metadata;
    return model;
  },
  write({ message, configuration, metadata }, form) {
    const wire: WireSendRequest = { $typeName: wireTypeNames.SendMessageRequest };
    if (message !== undefined) wire.request = writeMessage(message, form);
    wire.configuration = writeConfiguration(configuration);
    if (metadata !== undefined) wire.metadata = metadata;
    return wire;
  },
};

function readConfiguration(wire: WireConfiguration): SendMessageConfiguration {
  const { acceptedOutputModes, pushNotification, historyLength, blocking } = wire;
  const configuration: SendMessageConfiguration = {
    $typeName: typeNames.SendMessageConfiguration,
    acceptedOutputModes,
    returnImmediately: !blocking,
    ...withHistory(historyLength),
  };
  if (pushNotification !== undefined) configuration.taskPushNotificationConfig = readPushConfig(pushNotification);
  return configuration;
}

// Always written: without it only some peers wait for the task.
function writeConfiguration(configuration: SendMessageConfiguration | undefined): WireConfiguration {
  const { acceptedOutputModes = [], taskPushNotificationConfig, historyLength = 0 } = configuration ?? {};
  const wire: WireConfiguration = {
    $typeName: wireTypeNames.SendMessageConfiguration,
    ...{ acceptedOutputModes, historyLength },
    blocking: configuration?.returnImmediately !== true,
  };
  if (taskPushNotificationConfig !== undefined) wire.pushNotification = writePushConfig(taskPushNotificationConfig);
  return wire;
}

// Here 0 means the whole history; in the model an absent field does.
function withHistory(historyLength: number): { readonly historyLength?: number } {
  return historyLength === 0 ? {} : { historyLength };
}

const getTask: Translation<WireGetRequest, GetTaskRequest> = {
  read: ({ name, historyLength }, { violations }) => ({
    $typeName: typeNames.GetTaskRequest,
    tenant: "",
    id: readTaskName(name, "name", violations),
    ...withHistory(historyLength),
  }),
  write: ({ id, historyLength = 0 }) => ({
    $typeName: wireTypeNames.GetTaskRequest,
    name: taskName(id),
    historyLength,
  }),
};

const cancelTask: Translation<NamedMessage, CancelTaskRequest> = {
  read: ({ name }, { violations }) => ({
    $typeName: typeNames.CancelTaskRequest,
    tenant: "",
    id: readTaskName(name, "name", violations),
  }),
  write: ({ id }) => namedMessage(wireTypeNames.CancelTaskRequest, taskName(id)),
};

const subscribeToTask: Translation<NamedMessage, SubscribeToTaskRequest> = {
  read: ({ name }, { violations }) => ({
    $typeName: typeNames.SubscribeToTaskRequest,
    tenant: "",
    id: readTaskName(name, "name", violations),
  }),
  write: ({ id }) => namedMessage(wireTypeNames.TaskSubscriptionRequest, taskName(id)),
};

const getConfig: Translation<WireConfigRequest, GetTaskPushNotificationConfigRequest> = {
  read: ({ name }, { violations }) => ({
    $typeName: typeNames.GetTaskPushNotificationConfigRequest,
    tenant: "",
    ...readConfigName(name, "name", violations),
  }),
  write: (request) => ({ $typeName: wireTypeNames.GetTaskPushNotificationConfigRequest, name: configName(request) }),
};

const deleteConfig: Translation<NamedMessage, DeleteTaskPushNotificationConfigRequest> = {
  read: ({ name }, { violations }) => ({
    $typeName: typeNames.DeleteTaskPushNotificationConfigRequest,
    tenant: "",
    ...readConfigName(name, "name", violations),
  }),
  write: (request) => namedMessage(wireTypeNames.DeleteTaskPushNotificationConfigRequest, configName(request)),
};

const listConfigs: Translation<WireListRequest, ListTaskPushNotificationConfigsRequest> = {
  read: ({ parent, pageSize, pageToken }, { violations }) => ({
    $typeName: typeNames.ListTaskPushNotificationConfigsRequest,
    tenant: "",
    taskId: readTaskName(parent, "parent", violations),
    ...{ pageSize, pageToken },
  }),
  write: ({ taskId, pageSize, pageToken }) => ({
    $typeName: wireTypeNames.ListTaskPushNotificationConfigRequest,
    parent: taskName(taskId),
    ...{ pageSize, pageToken },
  }),
};

const createConfig: Translation<WireCreateRequest, TaskPushNotificationConfig> = {
  read: (wire, { violations }) => readCreate(wire, readTaskName(wire.parent, "parent", violations), violations),
  write: (config) => ({
    $typeName: wireTypeNames.CreateTaskPushNotificationConfigRequest,
    parent: taskName(config.taskId),
    configId: config.id,
    config: writeTaskConfig(config),
  }),
};

const getCard: Translation = {
  read: () => ({ $typeName: typeNames.GetExtendedAgentCardRequest, tenant: "" }) as AnyMessage,
  write: () => ({ $typeName: wireTypeNames.GetAgentCardRequest }),
};

function namedMessage(typeName: string, name: string): NamedMessage {
  return { $typeName: typeName, name };
}

/** The requests in 0.3's schema, by operation. */
export const requestTranslations: { readonly [K in OperationName]?: Translation } = {
  sendMessage: send,
  sendStreamingMessage: send,
  getTask,
  cancelTask,
  subscribeToTask,
  createTaskPushNotificationConfig: createConfig,
  getTaskPushNotificationConfig: getConfig,
  listTaskPushNotificationConfigs: listConfigs,
  getExtendedAgentCard: getCard,
  deleteTaskPushNotificationConfig: deleteConfig,
};
