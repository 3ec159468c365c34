import type { FieldViolation } from "../../../protocol/errors.js";
import type { OperationName } from "../../../protocol/operations.js";

// Requests are validated in the model; violations name the fields of 0.3's schema.

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
export function wireViolations(name: OperationName, violations: readonly FieldViolation[]): readonly FieldViolation[] {
  return violations.map(({ field, description }) => ({
    field: (rules[name] ?? []).reduce((path, [model, wirePath]) => path.replace(model, wirePath), field),
    description: description.replace("one of text, raw, url, data", "one of text, file, data"),
  }));
}
