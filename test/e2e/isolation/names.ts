import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Operation, operations } from "../../../src/protocol/operations.js";

// Every text that a request may have, and what it names. A new operation, or a new field, has to be listed before the
// sweep runs.

/** What a caller may name that belongs to somebody. */
export const nameKinds = [
  "task",
  "context",
  "message",
  "config",
  "tasksPage",
  "configsPage",
  "event",
  "tenant",
] as const;
export type NameKind = (typeof nameKinds)[number];

/** By type and field. `content` names nothing that is stored. */
const meanings: Readonly<Record<string, NameKind | "content">> = {
  "SendMessageRequest.tenant": "tenant",
  "SendMessageConfiguration.acceptedOutputModes": "content",
  "Message.messageId": "message",
  "Message.contextId": "context",
  "Message.taskId": "task",
  "Message.extensions": "content",
  "Message.referenceTaskIds": "task",
  "Part.text": "content",
  "Part.url": "content",
  "Part.filename": "content",
  "Part.mediaType": "content",
  "TaskPushNotificationConfig.tenant": "tenant",
  "TaskPushNotificationConfig.id": "config",
  "TaskPushNotificationConfig.taskId": "task",
  "TaskPushNotificationConfig.url": "content",
  "TaskPushNotificationConfig.token": "content",
  "AuthenticationInfo.scheme": "content",
  "AuthenticationInfo.credentials": "content",
  "GetTaskRequest.tenant": "tenant",
  "GetTaskRequest.id": "task",
  "ListTasksRequest.tenant": "tenant",
  "ListTasksRequest.contextId": "context",
  "ListTasksRequest.pageToken": "tasksPage",
  "CancelTaskRequest.tenant": "tenant",
  "CancelTaskRequest.id": "task",
  "SubscribeToTaskRequest.tenant": "tenant",
  "SubscribeToTaskRequest.id": "task",
  "GetTaskPushNotificationConfigRequest.tenant": "tenant",
  "GetTaskPushNotificationConfigRequest.taskId": "task",
  "GetTaskPushNotificationConfigRequest.id": "config",
  "ListTaskPushNotificationConfigsRequest.tenant": "tenant",
  "ListTaskPushNotificationConfigsRequest.taskId": "task",
  "ListTaskPushNotificationConfigsRequest.pageToken": "configsPage",
  "DeleteTaskPushNotificationConfigRequest.tenant": "tenant",
  "DeleteTaskPushNotificationConfigRequest.taskId": "task",
  "DeleteTaskPushNotificationConfigRequest.id": "config",
  "GetExtendedAgentCardRequest.tenant": "tenant",
};

/** A text field of a request: the way to it, and its row in the table. */
interface TextField {
  readonly path: readonly string[];
  readonly row: string;
  readonly isList: boolean;
}

function textFields({ name, typeName, fields }: DescMessage, way: readonly string[] = []): readonly TextField[] {
  if (typeName.startsWith("google.protobuf.")) return [];
  return fields.flatMap((field: DescField) => {
    const path = [...way, field.localName];
    if (field.message !== undefined) return textFields(field.message, path);
    const isText = field.scalar === 9 && field.fieldKind !== "map";
    return isText ? [{ path, row: `${name}.${field.localName}`, isList: field.fieldKind === "list" }] : [];
  });
}

/** The rows that the table lacks, and those that no operation has. */
export function wrongRows(): { readonly missing: readonly string[]; readonly unused: readonly string[] } {
  const rows = new Set(operations.flatMap(({ input }) => textFields(input).map(({ row }) => row)));
  return {
    missing: [...rows].filter((row) => meanings[row] === undefined),
    unused: Object.keys(meanings).filter((row) => !rows.has(row)),
  };
}

/** A place in a request, or beside it, that names something. */
export interface NamingField {
  readonly operation: Operation;
  /** `["message", "taskId"]`; `["after"]` for the id of the last event. */
  readonly path: readonly string[];
  readonly kind: NameKind;
  readonly isList: boolean;
}

/** Everything by which a call of an operation can name something. */
export function namingFields(operation: Operation): readonly NamingField[] {
  const named = textFields(operation.input).flatMap(({ path, row, isList }) => {
    const kind = meanings[row] ?? "content";
    return kind === "content" ? [] : [{ operation, path, kind, isList }];
  });
  // `Last-Event-ID` is no field of a request.
  const after = { operation, path: ["after"], kind: "event", isList: false } as const;
  return operation.streams ? [...named, after] : named;
}

/** Sets a field of a request in JSON. */
export function withName(request: JsonObject, [first = "", ...rest]: readonly string[], value: JsonValue): JsonObject {
  const inner = (request[first] ?? {}) as JsonObject;
  return { ...request, [first]: rest.length === 0 ? value : withName(inner, rest, value) };
}
