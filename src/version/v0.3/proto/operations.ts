import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { validate, validateRead } from "../../../protocol/check/validate.js";
import type { FieldViolation } from "../../../protocol/errors.js";
import {
  type AgentCard,
  type CancelTaskRequest,
  type DeleteTaskPushNotificationConfigRequest,
  type GetTaskPushNotificationConfigRequest,
  type GetTaskRequest,
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  type SendMessageConfiguration,
  type SendMessageRequest,
  type SendMessageResponse,
  type SubscribeToTaskRequest,
  type Task,
  type TaskPushNotificationConfig,
  typeNames,
} from "../../../protocol/model.js";
import { findOperation, type Operation, type OperationName } from "../../../protocol/operations.js";
import type { ValidationLimits } from "../../../protocol/validation-limits.js";
import { addViolation, mergeViolations, prefixMember, type Violations } from "../../../protocol/violations.js";
import { throwMissing } from "../../codec-errors.js";
import { withoutHistory } from "../streams.js";
import { readWireCard, writeWireCard } from "./card.js";
import { readMessage, readTask, writeMessage, writeTask } from "./messages.js";
import {
  type WireCard,
  type WireConfigRequest,
  type WireConfigs,
  type WireConfiguration,
  type WireCreateRequest,
  type WireGetRequest,
  type WireListRequest,
  type WirePushConfig,
  type WireSendRequest,
  type WireSendResponse,
  type WireTask,
  type WireTaskConfig,
  wireTypeNames,
} from "./model.js";
import type { Reading, WireForm } from "./peers.js";

// The operations of 0.3's schema, for gRPC and HTTP+JSON: requests, replies, push configurations and resource names, each
// read and written beside each other, then the table of operations. A request is checked in the model (`violationsIn`), whose
// violations then get 0.3's field names.

/** Converts between a message of 0.3's schema and one of the model. */
export interface Translation<W extends AnyMessage = AnyMessage, M extends AnyMessage = AnyMessage> {
  read(wire: W, reading: Reading): M;
  write(message: M, form: WireForm): W;
}

// Requests.

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
    acceptedOutputModes,
    historyLength,
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
    pageSize,
    pageToken,
  }),
  write: ({ taskId, pageSize, pageToken }) => ({
    $typeName: wireTypeNames.ListTaskPushNotificationConfigRequest,
    parent: taskName(taskId),
    pageSize,
    pageToken,
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

// Replies.

const task: Translation<WireTask, Task> = { read: readTask, write: writeTask };

const sendReply: Translation<WireSendResponse, SendMessageResponse> = {
  read: ({ payload }, reading) => ({
    $typeName: typeNames.SendMessageResponse,
    payload: readReplyPayload(payload, reading),
  }),
  write: ({ payload }, form) => ({
    $typeName: wireTypeNames.SendMessageResponse,
    payload: writeReplyPayload(payload, form),
  }),
};

function readReplyPayload(payload: WireSendResponse["payload"], reading: Reading): SendMessageResponse["payload"] {
  if (payload.case === "task") return { case: "task", value: readTask(payload.value, reading) };
  return payload.case === "msg" ? { case: "message", value: readMessage(payload.value, reading) } : { case: undefined };
}

function writeReplyPayload(payload: SendMessageResponse["payload"], form: WireForm): WireSendResponse["payload"] {
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

/** Completes a reply from the request: drops a history that was not requested, and sets the task of a configuration. */
export function finishReply({ name }: Operation, reply: AnyMessage, request: AnyMessage | undefined): void {
  switch (name) {
    case "sendMessage": {
      const { payload } = reply as SendMessageResponse;
      if (payload.case === "task") withoutHistory(payload.value, request);
      return;
    }
    case "getTask":
      withoutHistory(reply as Task, request);
      return;
    case "createTaskPushNotificationConfig":
    case "getTaskPushNotificationConfig":
      withTask(reply as TaskPushNotificationConfig, request);
      return;
    case "listTaskPushNotificationConfigs":
      for (const config of (reply as ListTaskPushNotificationConfigsResponse).configs) withTask(config, request);
  }
}

function withTask(config: TaskPushNotificationConfig, request: AnyMessage | undefined): void {
  config.taskId ||= (request as Partial<TaskPushNotificationConfig> | undefined)?.taskId ?? "";
}

// Push configurations: in 0.3's schema the webhook is a message of its own, next to the resource name.

function readPushConfig(wire: WirePushConfig | undefined, taskId = ""): TaskPushNotificationConfig {
  const { id = "", url = "", token = "", authentication } = wire ?? {};
  const config: TaskPushNotificationConfig = {
    $typeName: typeNames.TaskPushNotificationConfig,
    tenant: "",
    id,
    taskId,
    url,
    token,
  };
  if (authentication !== undefined) {
    const { schemes, credentials } = authentication;
    // The model has one scheme. Without a scheme and credentials there is no authentication.
    const [scheme = ""] = schemes;
    if (scheme !== "" || credentials !== "") {
      config.authentication = { $typeName: typeNames.AuthenticationInfo, scheme, credentials };
    }
  }
  return config;
}

function writePushConfig({ id, url, token, authentication }: TaskPushNotificationConfig): WirePushConfig {
  const wire: WirePushConfig = { $typeName: wireTypeNames.PushNotificationConfig, id, url, token };
  if (authentication !== undefined) {
    const { scheme, credentials } = authentication;
    const schemes = scheme === "" ? [] : [scheme];
    wire.authentication = { $typeName: wireTypeNames.AuthenticationInfo, schemes, credentials };
  }
  return wire;
}

/**
 * Reads a configuration in a reply. Its own id takes precedence over the one in the name, which some SDKs get wrong.
 */
function readTaskConfig({ name, pushNotificationConfig }: WireTaskConfig): TaskPushNotificationConfig {
  const nameParts = findConfigName(name);
  const config = readPushConfig(pushNotificationConfig, nameParts?.taskId);
  config.id ||= nameParts?.id ?? "";
  return config;
}

function writeTaskConfig(config: TaskPushNotificationConfig): WireTaskConfig {
  return {
    $typeName: wireTypeNames.TaskPushNotificationConfig,
    // A configuration without an id gets no name: one with an empty id would refer to another.
    name: config.id === "" ? "" : configName(config),
    pushNotificationConfig: writePushConfig(config),
  };
}

/** Reads the request that creates a configuration. */
export function readCreate(
  { configId, config }: WireCreateRequest,
  taskId: string,
  violations: Violations,
): TaskPushNotificationConfig {
  const pushConfig = config?.pushNotificationConfig;
  if (pushConfig === undefined) {
    const before = violations.length;
    addViolation(violations, "is required");
    prefixMember(violations, before, "config.pushNotificationConfig");
  }
  const model = readPushConfig(pushConfig, taskId);
  model.id ||= configId;
  return model;
}

// 0.3's schema encodes ids as resource names: `tasks/{task}` and
// `tasks/{task}/pushNotificationConfigs/{configuration}`. Peers do not escape them, so a task id has no slash. A
// configuration id comes last and may contain one.

/** A task and one of its push configurations. */
interface ConfigName {
  readonly taskId: string;
  readonly id: string;
}

function taskName(taskId: string): string {
  return `tasks/${taskId}`;
}

function configName({ taskId, id }: ConfigName): string {
  return `${taskName(taskId)}/pushNotificationConfigs/${id}`;
}

/** Returns the task id in a name. Records a violation of `field` if the name is malformed. */
function readTaskName(name: string, field: string, violations: Violations): string {
  const [, id] = /^tasks\/([^/]+)$/.exec(name) ?? [];
  if (id === undefined) noteForm(field, "tasks/{id}", violations);
  return id ?? "";
}

/**
 * Returns the configuration in a name. Records a violation if the name is malformed. The id is empty if the name ends
 * with the collection.
 */
function readConfigName(name: string, field: string, violations: Violations): ConfigName {
  const config = findConfigName(name);
  if (config === undefined) noteForm(field, "tasks/{id}/pushNotificationConfigs/{id}", violations);
  return config ?? { taskId: "", id: "" };
}

/**
 * Like `readConfigName`, for replies of peers: returns `undefined` for other names. One SDK writes `None` for a missing
 * id.
 */
function findConfigName(name: string): ConfigName | undefined {
  const [, taskId, id = ""] = /^tasks\/([^/]+)\/pushNotificationConfigs(?:\/(.*))?$/s.exec(name) ?? [];
  return taskId === undefined ? undefined : { taskId, id: id === "None" ? "" : id };
}

function noteForm(field: string, form: string, violations: Violations): void {
  const before = violations.length;
  addViolation(violations, `must be of the form ${form}`);
  prefixMember(violations, before, field);
}

// The table of operations.

interface Row {
  readonly rpc: string;
  readonly request: Translation;
  /** Absent for streams, whose events are in `messages.ts`. */
  readonly reply?: Translation;
}

/** 0.3's service cannot list tasks. */
const rows: { readonly [K in OperationName]?: Row } = {
  sendMessage: { rpc: "SendMessage", request: send, reply: sendReply },
  sendStreamingMessage: { rpc: "SendStreamingMessage", request: send },
  getTask: { rpc: "GetTask", request: getTask, reply: task },
  cancelTask: { rpc: "CancelTask", request: cancelTask, reply: task },
  subscribeToTask: { rpc: "TaskSubscription", request: subscribeToTask },
  createTaskPushNotificationConfig: {
    rpc: "CreateTaskPushNotificationConfig",
    request: createConfig,
    reply: config,
  },
  getTaskPushNotificationConfig: { rpc: "GetTaskPushNotificationConfig", request: getConfig, reply: config },
  listTaskPushNotificationConfigs: { rpc: "ListTaskPushNotificationConfig", request: listConfigs, reply: configs },
  getExtendedAgentCard: { rpc: "GetAgentCard", request: getCard, reply: card },
  deleteTaskPushNotificationConfig: {
    rpc: "DeleteTaskPushNotificationConfig",
    request: deleteConfig,
    reply: identity,
  },
};

/** The RPCs of 0.3's service. */
export const rpcs: ReadonlyMap<string, Operation> = new Map(
  Object.entries(rows).map(([name, { rpc }]) => [rpc, findOperation(name as OperationName)]),
);

export function findRequest({ name }: Operation): Translation {
  return rows[name]?.request ?? throwMissing(name);
}

export function findReply({ name }: Operation): Translation {
  return rows[name]?.reply ?? throwMissing(name);
}

// The checks of a request.

/** Creates the reading of a request. */
export function requestReading(): Reading {
  return { from: "client", fileBytes: undefined, violations: [] };
}

interface RequestCheck {
  readonly limits: ValidationLimits;
  /** Violations found while reading the request. */
  readonly violations: readonly FieldViolation[];
  /** Whether its strings and free-form JSON are validated already. */
  readonly isRead: boolean;
}

/** Returns all violations of a request, in 0.3's field names. */
export function violationsIn(
  operation: Operation,
  request: AnyMessage,
  { limits, violations, isRead }: RequestCheck,
): readonly FieldViolation[] {
  const invalid = (isRead ? validateRead : validate)(operation.input, request, limits).filter(
    // 0.3 allows reading the configuration of a task without its id.
    ({ field }) =>
      operation.name !== "getTaskPushNotificationConfig" ||
      field !== "id" ||
      (request as GetTaskPushNotificationConfigRequest).id !== "",
  );
  return mergeViolations(violations, wireViolations(operation.name, invalid));
}

type Rule = readonly [model: RegExp, wirePath: string];

const part = String.raw`^(message\.content\[\d+\])\.`;

const sendRules: readonly Rule[] = [
  [/^message\.parts/, "message.content"],
  [new RegExp(`${part}raw`), "$1.file.fileWithBytes"],
  [new RegExp(`${part}url`), "$1.file.fileWithUri"],
  [new RegExp(`${part}mediaType`), "$1.file.mimeType"],
  [new RegExp(`${part}filename`), "$1.file.name"],
  [new RegExp(`${part}data`), "$1.data.data"],
  [/^configuration\.taskPushNotificationConfig/, "configuration.pushNotification"],
  [/(authentication)\.scheme$/, "$1.schemes"],
];

const byName: readonly Rule[] = [[/^(?:id|taskId)$/, "name"]];

const rules: { readonly [K in OperationName]?: readonly Rule[] } = {
  sendMessage: sendRules,
  sendStreamingMessage: sendRules,
  getTask: byName,
  cancelTask: byName,
  subscribeToTask: byName,
  getTaskPushNotificationConfig: byName,
  deleteTaskPushNotificationConfig: byName,
  listTaskPushNotificationConfigs: [[/^taskId$/, "parent"]],
  createTaskPushNotificationConfig: [
    [/^taskId$/, "parent"],
    [/^(?=id$|url$|token$|authentication)/, "config.pushNotificationConfig."],
    [/(authentication)\.scheme$/, "$1.schemes"],
  ],
};

/** Returns violations of a model request in the field names of 0.3's schema. */
function wireViolations(name: OperationName, violations: readonly FieldViolation[]): readonly FieldViolation[] {
  return violations.map(({ field, description }) => ({
    field: (rules[name] ?? []).reduce((path, [model, wirePath]) => path.replace(model, wirePath), field),
    description: description.replace("one of text, raw, url, data", "one of text, file, data"),
  }));
}
