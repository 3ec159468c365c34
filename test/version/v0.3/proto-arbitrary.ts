import type { JsonObject } from "@bufbuild/protobuf";
import {
  type Message,
  type Part,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
  TaskSchema,
} from "../../../src/protocol/model.js";
import { arbitraryMessage } from "../../support/arbitrary-message.js";

// Random messages of the model, reduced to what the schema of 0.3 can express.

export const arbitraryTask = arbitraryMessage(TaskSchema).map(carriedTask);
export const arbitraryEvent = arbitraryMessage(StreamResponseSchema).map(carriedEvent);
export const arbitraryConfig = arbitraryMessage(TaskPushNotificationConfigSchema).map((config) => ({
  ...carriedConfig(config),
  taskId: idOf(config.taskId),
  id: idOf(config.id),
}));
export const arbitrarySend = arbitraryMessage(SendMessageRequestSchema).map(carriedSend);

/** Requests that every server accepts. */
export const validSend = arbitrarySend.map((request): SendMessageRequest => {
  const config = request.configuration?.taskPushNotificationConfig;
  if (config !== undefined) {
    // Without an id it would get the task's.
    config.id = "hook";
    config.url = "https://hook.example";
    config.token = "token";
    if (config.authentication !== undefined)
      Object.assign(config.authentication, { scheme: "Bearer", credentials: "c" });
  }
  const { configuration, message } = request;
  if (configuration?.historyLength !== undefined)
    configuration.historyLength = configuration.historyLength & 0x7fffffff || 1;
  const parts = (message?.parts ?? []).filter(({ content }) => content.case !== undefined);
  const whole = message ?? carriedMessage(emptyMessage());
  request.message = { ...whole, role: Role.USER, parts: parts.length > 0 ? parts : [textPart("hi")] };
  return request;
});

export function textPart(value: string): Part {
  return { $typeName: "lf.a2a.v1.Part", content: { case: "text", value }, filename: "", mediaType: "" };
}

function emptyMessage(): Message {
  const lists = { parts: [], extensions: [], referenceTaskIds: [] };
  return { $typeName: "lf.a2a.v1.Message", messageId: "m", contextId: "", taskId: "", role: Role.USER, ...lists };
}

function idOf(text: string): string {
  return `i${text.replaceAll("/", "")}`;
}

function carriedSend(request: SendMessageRequest): SendMessageRequest {
  const { message, configuration } = request;
  request.tenant = "";
  if (message !== undefined) request.message = { ...carriedMessage(message), messageId: idOf(message.messageId) };
  if (configuration === undefined) return { ...request, configuration: noConfiguration() };
  const { taskPushNotificationConfig, historyLength } = configuration;
  // The schema cannot express a request for no history.
  if (historyLength === 0) configuration.historyLength = 1;
  if (taskPushNotificationConfig !== undefined) {
    configuration.taskPushNotificationConfig = { ...carriedConfig(taskPushNotificationConfig), taskId: "" };
  }
  return request;
}

function noConfiguration(): SendMessageRequest["configuration"] {
  return { $typeName: "lf.a2a.v1.SendMessageConfiguration", acceptedOutputModes: [], returnImmediately: false };
}

function carriedConfig(config: TaskPushNotificationConfig): TaskPushNotificationConfig {
  const { authentication } = config;
  if (authentication !== undefined) authentication.scheme = `s${authentication.scheme}`;
  return { ...config, tenant: "" };
}

function carriedTask(task: Task): Task {
  const { status } = task;
  if (status?.message !== undefined) status.message = carriedMessage(status.message);
  task.history = task.history.map(carriedMessage);
  for (const artifact of task.artifacts) artifact.parts = artifact.parts.map(carriedPart);
  return task;
}

function carriedEvent(event: StreamResponse): StreamResponse {
  const { payload } = event;
  if (payload.case === "task") payload.value = carriedTask(payload.value);
  if (payload.case === "message") payload.value = carriedMessage(payload.value);
  if (payload.case === "statusUpdate" && payload.value.status?.message !== undefined) {
    payload.value.status.message = carriedMessage(payload.value.status.message);
  }
  if (payload.case === "artifactUpdate" && payload.value.artifact !== undefined) {
    payload.value.artifact.parts = payload.value.artifact.parts.map(carriedPart);
  }
  return event;
}

function carriedMessage(message: Message): Message {
  const role = message.role === Role.UNSPECIFIED ? Role.AGENT : message.role;
  return { ...message, role, parts: message.parts.map(carriedPart) };
}

function carriedPart(part: Part): Part {
  const { content, metadata } = part;
  if (content.case === "raw" || content.case === "url") return part;
  return { ...part, filename: "", mediaType: "", metadata: content.case === "data" ? unlessEmpty(metadata) : metadata };
}

// An empty object would be lost next to the flag of wrapped data.
function unlessEmpty(metadata: JsonObject | undefined): JsonObject | undefined {
  return metadata === undefined || Object.keys(metadata).length === 0 ? undefined : metadata;
}
