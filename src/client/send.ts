import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import {
  type Message,
  Role,
  SendMessageConfigurationSchema,
  type SendMessageRequest,
  type SendMessageResponse,
  type Task,
} from "../protocol/model.js";
import { type Content, partsOf } from "../protocol/parts.js";
import { randomUuid } from "../protocol/uuid.js";

/** What may accompany a message. */
export interface SendOptions extends CallOptions {
  /** The task to continue, in its context. Default: a new one. */
  readonly task?: Pick<Task, "id" | "contextId"> | undefined;
  /** The context of a new task. Default: a new one. */
  readonly contextId?: string | undefined;
  /** Default: a random UUID. */
  readonly messageId?: string | undefined;
  /** Tasks that the message references. */
  readonly referenceTaskIds?: readonly string[] | undefined;
  /** Metadata of the message. */
  readonly metadata?: JsonObject | undefined;
  /** What the sender accepts and how it wants to hear of the task (spec 3.2.2). Default: the agent's defaults. */
  readonly configuration?: MessageInitShape<typeof SendMessageConfigurationSchema> | undefined;
  /** Default: the tenant of the interface in the card, else none. */
  readonly tenant?: string | undefined;
}

/** The request that sends content to an agent. */
export function sendRequest(content: Content, options: SendOptions): SendMessageRequest {
  const { task, contextId, messageId, referenceTaskIds = [], metadata, configuration, tenant = "" } = options;
  const message: Message = {
    $typeName: "lf.a2a.v1.Message",
    messageId: messageId ?? randomUuid(),
    role: Role.USER,
    taskId: task?.id ?? "",
    contextId: task?.contextId ?? contextId ?? "",
    parts: partsOf(content),
    extensions: [],
    referenceTaskIds: [...referenceTaskIds],
  };
  if (metadata !== undefined) message.metadata = metadata;
  const request: SendMessageRequest = { $typeName: "lf.a2a.v1.SendMessageRequest", tenant, message };
  if (configuration !== undefined) request.configuration = create(SendMessageConfigurationSchema, configuration);
  return request;
}

/** Adds the members that a message must have and the sender left out: its id and its role. */
export function completed(request: SendMessageRequest): SendMessageRequest {
  const { message } = request;
  if (message === undefined || (message.messageId !== "" && message.role !== Role.UNSPECIFIED)) return request;
  const messageId = message.messageId || randomUuid();
  const role = message.role === Role.UNSPECIFIED ? Role.USER : message.role;
  return { ...request, message: { ...message, messageId, role } };
}

/** An agent's answer: a message or a task. */
export function answerOf({ payload }: SendMessageResponse): Message | Task {
  if (payload.value === undefined) throw new A2AError("invalidAgentResponse", "the agent's answer is empty");
  return payload.value;
}
