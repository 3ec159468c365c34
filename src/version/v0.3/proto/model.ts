// The messages of 0.3's schema, as `protocol/model.ts` does for 1.0: descriptors built from the outline, and only the
// types of the generated code.
import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { type GenMessage, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import * as wireTypeNames from "../../../../gen/a2a/v1/a2a_names.js";
import { files } from "../../../../gen/a2a/v1/a2a_outline.js";
import type {
  AgentCard,
  CreateTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigResponse,
  SendMessageRequest,
  SendMessageResponse,
  A2AService as Service,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from "../../../../gen/a2a/v1/a2a_pb.js";
import { fileFromOutlines } from "../../../protocol/codec/outline/outline.js";

export type {
  AgentCard as WireCard,
  Artifact as WireArtifact,
  CreateTaskPushNotificationConfigRequest as WireCreateRequest,
  FilePart as WireFile,
  GetTaskPushNotificationConfigRequest as WireConfigRequest,
  GetTaskRequest as WireGetRequest,
  ListTaskPushNotificationConfigRequest as WireListRequest,
  ListTaskPushNotificationConfigResponse as WireConfigs,
  Message as WireMessage,
  Part as WirePart,
  PushNotificationConfig as WirePushConfig,
  SendMessageConfiguration as WireConfiguration,
  SendMessageRequest as WireSendRequest,
  SendMessageResponse as WireSendResponse,
  StreamResponse as WireStreamResponse,
  Task as WireTask,
  TaskPushNotificationConfig as WireTaskConfig,
  TaskStatus as WireStatus,
} from "../../../../gen/a2a/v1/a2a_pb.js";
/** The `$typeName` of each message of 0.3. */
export { wireTypeNames };

const file = fileFromOutlines(files);

export const A2AService: typeof Service = serviceDesc(file, 0);
export const AgentCardSchema = schema<AgentCard>(wireTypeNames.AgentCard);
export const CreateRequestSchema = schema<CreateTaskPushNotificationConfigRequest>(
  wireTypeNames.CreateTaskPushNotificationConfigRequest,
);
export const ConfigsSchema = schema<ListTaskPushNotificationConfigResponse>(
  wireTypeNames.ListTaskPushNotificationConfigResponse,
);
export const SendRequestSchema = schema<SendMessageRequest>(wireTypeNames.SendMessageRequest);
export const SendResponseSchema = schema<SendMessageResponse>(wireTypeNames.SendMessageResponse);
export const StreamResponseSchema = schema<StreamResponse>(wireTypeNames.StreamResponse);
export const TaskSchema = schema<Task>(wireTypeNames.Task);
export const TaskConfigSchema = schema<TaskPushNotificationConfig>(wireTypeNames.TaskPushNotificationConfig);

function schema<M extends AnyMessage>(typeName: M["$typeName"]): GenMessage<M> {
  return messageDesc<M>(
    file,
    file.messages.findIndex((message) => message.typeName === typeName),
  );
}
