import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { validate, validateRead } from "../../../protocol/check/validate.js";
import type { FieldViolation } from "../../../protocol/errors.js";
import type {
  ListTaskPushNotificationConfigsResponse,
  SendMessageResponse,
  Task,
  TaskPushNotificationConfig,
} from "../../../protocol/model.js";
import { findOperation, type Operation, type OperationName } from "../../../protocol/operations.js";
import type { ValidationLimits } from "../../../protocol/validation-limits.js";
import { mergeViolations } from "../../../protocol/violations.js";
import { throwMissing } from "../../codec-errors.js";
import type { Reading } from "./parts.js";
import { wireViolations } from "./paths.js";
import { replyTranslations } from "./replies.js";
import { requestTranslations, type Translation } from "./requests.js";
import { withoutHistory } from "./stream.js";

// The operations of 0.3's schema, for gRPC and HTTP+JSON.

/** The RPCs of 0.3's service, which cannot list tasks. */
export const rpcs: ReadonlyMap<string, Operation> = new Map<string, Operation>(
  (
    [
      ["SendMessage", "sendMessage"],
      ["SendStreamingMessage", "sendStreamingMessage"],
      ["GetTask", "getTask"],
      ["CancelTask", "cancelTask"],
      ["TaskSubscription", "subscribeToTask"],
      ["CreateTaskPushNotificationConfig", "createTaskPushNotificationConfig"],
      ["GetTaskPushNotificationConfig", "getTaskPushNotificationConfig"],
      ["ListTaskPushNotificationConfig", "listTaskPushNotificationConfigs"],
      ["GetAgentCard", "getExtendedAgentCard"],
      ["DeleteTaskPushNotificationConfig", "deleteTaskPushNotificationConfig"],
    ] satisfies readonly (readonly [string, OperationName])[]
  ).map(([rpc, name]) => [rpc, findOperation(name)]),
);

export function findRequest({ name }: Operation): Translation {
  return requestTranslations[name] ?? throwMissing(name);
}

export function findReply({ name }: Operation): Translation {
  return replyTranslations[name] ?? throwMissing(name);
}

/** Creates the reading of a request. */
export function requestReading(): Reading {
  return { from: "client", fileBytes: undefined, violations: [] };
}

export interface RequestCheck {
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
    ({ field }) => operation.name !== "getTaskPushNotificationConfig" || field !== "id" || !isUnnamed(request),
  );
  return mergeViolations(violations, wireViolations(operation.name, invalid));
}

function isUnnamed(request: AnyMessage): boolean {
  return (request as Partial<TaskPushNotificationConfig>).id === "";
}

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
