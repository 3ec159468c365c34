import type { FieldViolation } from "../../../protocol/errors.js";
import type { OperationName } from "../../../protocol/operations.js";

// Field paths of the model → those of kind-JSON.

type Rename = readonly [pattern: RegExp, name: string];

const partNames: Readonly<Record<string, string>> = {
  raw: "bytes",
  url: "uri",
  mediaType: "mimeType",
  filename: "name",
};
const partPattern = /(\bparts\[\d+\])\.(raw|url|mediaType|filename)$/;

const sendRenames: readonly Rename[] = [
  [/^configuration\.taskPushNotificationConfig\b/, "configuration.pushNotificationConfig"],
  [/^configuration\.returnImmediately$/, "configuration.blocking"],
  [/\bauthentication\.scheme$/, "authentication.schemes"],
];
const configIdRenames: readonly Rename[] = [
  [/^id$/, "pushNotificationConfigId"],
  [/^taskId$/, "id"],
];

const renames: { readonly [K in OperationName]?: readonly Rename[] } = {
  sendMessage: sendRenames,
  sendStreamingMessage: sendRenames,
  createTaskPushNotificationConfig: [
    [/^(id|url|token|authentication)\b/, "pushNotificationConfig.$1"],
    [/\bauthentication\.scheme$/, "authentication.schemes"],
  ],
  getTaskPushNotificationConfig: configIdRenames,
  listTaskPushNotificationConfigs: configIdRenames,
  deleteTaskPushNotificationConfig: configIdRenames,
};

/** Returns a violation in the field names and words of kind-JSON. */
export function oldViolation({ field, description }: FieldViolation, operation: OperationName): FieldViolation {
  return {
    field: oldPath(field, operation),
    description: description.replace(/\bROLE_(USER|AGENT)\b/g, (_, role: string) => role.toLowerCase()),
  };
}

function oldPath(field: string, operation: OperationName): string {
  // Names inside free-form JSON belong to the caller.
  const freeFormAt = field.search(/(?:^|\.)(?:metadata|data)(?=[.[]|$)/);
  const prefix = freeFormAt < 0 ? field : field.slice(0, freeFormAt);
  const path = (renames[operation] ?? []).reduce((text, [pattern, name]) => text.replace(pattern, name), prefix);
  const result = path.replace(partPattern, (_, part: string, name: string) => `${part}.file.${partNames[name]}`);
  return result + field.slice(prefix.length);
}
