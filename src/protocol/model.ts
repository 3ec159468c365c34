// The neutral model: the generated messages of A2A 1.0. Every other room imports them from here (spec 4, style 13).
// Their descriptors are built from the schema's outline.

import type { Message as AnyMessage, DescMessage } from "@bufbuild/protobuf";
import { enumDesc, type GenMessage, messageDesc, serviceDesc, tsEnum } from "@bufbuild/protobuf/codegenv2";
import * as typeNames from "../../gen/lf/a2a/v1/a2a_names.js";
import { files } from "../../gen/lf/a2a/v1/a2a_outline.js";
import type {
  AgentCard,
  Artifact,
  GetTaskRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  Message,
  Part,
  Role as RoleEnum,
  SendMessageConfiguration,
  SendMessageRequest,
  A2AService as Service,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskArtifactUpdateEvent,
  TaskPushNotificationConfig,
  TaskState as TaskStateEnum,
  TaskStatus,
  TaskStatusUpdateEvent,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { fileFromOutlines } from "./codec/outline/outline.js";
import { isObject } from "./kinds.js";

export type {
  AgentCard,
  AgentInterface,
  Artifact,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  Part,
  SecurityRequirement,
  SecurityScheme,
  SendMessageConfiguration,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskArtifactUpdateEvent,
  TaskPushNotificationConfig,
  TaskStatus,
  TaskStatusUpdateEvent,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
/** The `$typeName` of each message: `typeNames.Task`. */
export { typeNames };

const file = fileFromOutlines(files);

// Same values as the generated enums, without having to load the generated code.
/** Who sent a message: `Role.USER` or `Role.AGENT` (spec 4.1.5). */
export const Role = findEnum("Role") as typeof RoleEnum;
export type Role = RoleEnum;
/** The states of a task, as numbers of the schema: `TaskState.COMPLETED` (spec 4.1.3). */
export const TaskState = findEnum("TaskState") as typeof TaskStateEnum;
export type TaskState = TaskStateEnum;

export const A2AService: typeof Service = serviceDesc(file, 0);
export const AgentCardSchema = schema<AgentCard>(typeNames.AgentCard);
export const ArtifactSchema = schema<Artifact>(typeNames.Artifact);
export const GetTaskRequestSchema = schema<GetTaskRequest>(typeNames.GetTaskRequest);
export const ListTasksRequestSchema = schema<ListTasksRequest>(typeNames.ListTasksRequest);
export const ListTaskPushNotificationConfigsResponseSchema = schema<ListTaskPushNotificationConfigsResponse>(
  typeNames.ListTaskPushNotificationConfigsResponse,
);
export const MessageSchema = schema<Message>(typeNames.Message);
export const PartSchema = schema<Part>(typeNames.Part);
export const SendMessageConfigurationSchema = schema<SendMessageConfiguration>(typeNames.SendMessageConfiguration);
export const SendMessageRequestSchema = schema<SendMessageRequest>(typeNames.SendMessageRequest);
export const StreamResponseSchema = schema<StreamResponse>(typeNames.StreamResponse);
export const SubscribeToTaskRequestSchema = schema<SubscribeToTaskRequest>(typeNames.SubscribeToTaskRequest);
export const TaskArtifactUpdateEventSchema = schema<TaskArtifactUpdateEvent>(typeNames.TaskArtifactUpdateEvent);
export const TaskPushNotificationConfigSchema = schema<TaskPushNotificationConfig>(
  typeNames.TaskPushNotificationConfig,
);
export const TaskSchema = schema<Task>(typeNames.Task);
export const TaskStatusSchema = schema<TaskStatus>(typeNames.TaskStatus);
export const TaskStatusUpdateEventSchema = schema<TaskStatusUpdateEvent>(typeNames.TaskStatusUpdateEvent);

/** Returns the schema of a message of the protocol; `undefined` for anything else. */
export function findSchema(message: unknown): DescMessage | undefined {
  const typeName = isObject(message) ? message["$typeName"] : undefined;
  return file.messages.find((each) => each.typeName === typeName);
}

// A bundle leaves out the schemas that it does not use.
/* @__NO_SIDE_EFFECTS__ */
function schema<M extends AnyMessage>(typeName: M["$typeName"]): GenMessage<M> {
  return messageDesc<M>(
    file,
    file.messages.findIndex((message) => message.typeName === typeName),
  );
}

function findEnum(name: string): unknown {
  return tsEnum(
    enumDesc(
      file,
      file.enums.findIndex((each) => each.name === name),
    ),
  );
}
