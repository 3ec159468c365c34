import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { validate } from "../../../protocol/check/validate.js";
import { A2AError, type FieldViolation } from "../../../protocol/errors.js";
import type {
  ListTaskPushNotificationConfigsResponse,
  SendMessageResponse,
  Task,
  TaskPushNotificationConfig,
} from "../../../protocol/model.js";
import { type Operation, type OperationName, operationOf } from "../../../protocol/operations.js";
import type { ValidationLimits } from "../../../protocol/validation-limits.js";
import { mergeViolations } from "../../../protocol/violations.js";
import type { Reading } from "./parts.js";
import { ownViolations } from "./paths.js";
import { replyTranslations } from "./replies.js";
import { requestTranslations, type Translation } from "./requests.js";
import { withoutHistory } from "./stream.js";

// What gRPC and HTTP+JSON have in common beyond the messages themselves.

/** The RPCs of 0.3's service. There is none to list tasks. */
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
  ).map(([rpc, name]) => [rpc, operationOf(name)]),
);

export function requestOf({ name }: Operation): Translation {
  return requestTranslations[name] ?? missing(name);
}

export function replyOf({ name }: Operation): Translation {
  return replyTranslations[name] ?? missing(name);
}

function missing(name: OperationName): never {
  throw new A2AError("unsupportedOperation", `this version of the protocol has no ${name}`);
}

/** Starts the reading of a request. */
export function requestReading(): Reading {
  return { from: "client", fileBytes: undefined, violations: [] };
}

export interface Judged {
  readonly limits: ValidationLimits;
  /** What was found wrong while the request was read. */
  readonly violations: readonly FieldViolation[];
  /** Its strings and free JSON were looked at already. */
  readonly isRead: boolean;
}

/** Everything that is wrong with a request, in the names of 0.3. */
export function wrongIn(
  operation: Operation,
  request: AnyMessage,
  { limits, violations, isRead }: Judged,
): readonly FieldViolation[] {
  const missed = validate(operation.input, request, limits, { isRead }).filter(
    // The configuration of a task may be asked for without saying which.
    ({ field }) => operation.name !== "getTaskPushNotificationConfig" || field !== "id" || !isUnnamed(request),
  );
  return mergeViolations(violations, ownViolations(operation.name, missed));
}

function isUnnamed(request: AnyMessage): boolean {
  return (request as Partial<TaskPushNotificationConfig>).id === "";
}

/** Makes up for what a reply of 0.3 cannot know: that no history was wanted, and which task a configuration is of. */
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
