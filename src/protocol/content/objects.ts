import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import { validateRead } from "../check/validate.js";
import { readJson } from "../codec/json/reader.js";
import { writeJson } from "../codec/json/writer.js";
import { invalidParams } from "../errors.js";
import { isObject } from "../kinds.js";
import {
  type AgentCard,
  AgentCardSchema,
  type Artifact,
  ArtifactSchema,
  findSchema,
  type Message,
  MessageSchema,
  type Part,
  PartSchema,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  type TaskArtifactUpdateEvent,
  TaskArtifactUpdateEventSchema,
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
  TaskSchema,
  type TaskStatus,
  TaskStatusSchema,
  type TaskStatusUpdateEvent,
  TaskStatusUpdateEventSchema,
  typeNames,
} from "../model.js";
import { suggestion } from "../nearest.js";
import { defaultValidationLimits, type ValidationLimits } from "../validation-limits.js";
import { mergeViolations } from "../violations.js";

/** The protocol's objects by the names of the specification, with their members. */
export interface ProtocolObjects {
  /** `name`, `description`, `version`, `supportedInterfaces`, `capabilities`, `skills`, `defaultInputModes`, `defaultOutputModes`, `provider`, `documentationUrl`, `iconUrl`, `securitySchemes`, `securityRequirements`, `signatures` (spec 4.4.1). */
  readonly AgentCard: AgentCard;
  /** `artifactId`, `name`, `description`, `parts`, `metadata`, `extensions` (spec 4.1.7). */
  readonly Artifact: Artifact;
  /** `messageId`, `contextId`, `taskId`, `role`, `parts`, `metadata`, `extensions`, `referenceTaskIds` (spec 4.1.4). */
  readonly Message: Message;
  /** `content`, whose `case` is `"text"`, `"raw"`, `"url"` or `"data"`, `mediaType`, `filename`, `metadata` (spec 4.1.6). */
  readonly Part: Part;
  /** `message`, `configuration`, `metadata`, `tenant` (spec 3.2.1). */
  readonly SendMessageRequest: SendMessageRequest;
  /** `payload`, whose `case` is `"task"`, `"message"`, `"statusUpdate"` or `"artifactUpdate"` (spec 3.2.3). */
  readonly StreamResponse: StreamResponse;
  /** `id`, `contextId`, `status`, `artifacts`, `history`, `metadata` (spec 4.1.1). */
  readonly Task: Task;
  /** `taskId`, `contextId`, `artifact`, `append`, `lastChunk`, `metadata` (spec 4.2.2). */
  readonly TaskArtifactUpdateEvent: TaskArtifactUpdateEvent;
  /** `id`, `taskId`, `url`, `token`, `authentication`, `tenant` (spec 4.3.1). */
  readonly TaskPushNotificationConfig: TaskPushNotificationConfig;
  /** `state`, `message`, `timestamp` (spec 4.1.2). */
  readonly TaskStatus: TaskStatus;
  /** `taskId`, `contextId`, `status`, `metadata` (spec 4.2.1). */
  readonly TaskStatusUpdateEvent: TaskStatusUpdateEvent;
}

/** The name of a kind of object: `"Task"`, `"Message"`, `"StreamResponse"` and so on. */
export type ProtocolKind = keyof ProtocolObjects;

/** Options of `fromJson`. */
export interface FromJsonOptions {
  /**
   * Reads like the client does: required members may be missing, and an unknown enum name becomes unspecified. Default:
   * false.
   */
  readonly lenient?: boolean | undefined;
}

/**
 * Returns whether a value is a task, such as `payload.value` of a `sendMessage` reply.
 *
 * @example
 * ```ts
 * const { payload } = await client.sendMessage({ message });
 * if (isTask(payload.value)) console.log(payload.value.id);
 * ```
 */
export function isTask(value: unknown): value is Task {
  return isObject(value) && value["$typeName"] === typeNames.Task;
}

/**
 * Returns whether a value is a message, such as `payload.value` of a `sendMessage` reply.
 *
 * @example
 * ```ts
 * const { payload } = await client.sendMessage({ message });
 * if (isMessage(payload.value)) console.log(textOf(payload.value));
 * ```
 */
export function isMessage(value: unknown): value is Message {
  return isObject(value) && value["$typeName"] === typeNames.Message;
}

/**
 * Returns an object of the protocol as JSON of version 1.0, ready for `JSON.stringify`. The members `metadata` and
 * `data` are shared with the object. Throws a `TypeError` for anything else.
 *
 * @example
 * ```ts
 * const json = JSON.stringify(toJson(task));
 * ```
 */
export function toJson(object: ProtocolObjects[ProtocolKind]): JsonObject {
  const schema = findSchema(object);
  if (schema === undefined)
    throw new TypeError("toJson() takes an object of the protocol, such as a Task, with its $typeName");
  return writeJson(schema, object);
}

/**
 * Reads an object of the protocol from parsed JSON of version 1.0. The body of a webhook call is a `StreamResponse`.
 * The object shares `metadata` and `data` with the JSON: do not change the JSON afterwards. Throws `invalidParams` with
 * the path of every invalid field. Lengths and counts are not limited; nesting is, to 64 levels.
 *
 * @example
 * ```ts
 * const task = fromJson("Task", JSON.parse(body));
 * console.log(task.id, stateName(task.status?.state));
 * ```
 */
export function fromJson<K extends ProtocolKind>(
  kind: K,
  json: unknown,
  { lenient = false }: FromJsonOptions = {},
): ProtocolObjects[K] {
  if (!Object.hasOwn(schemas, kind)) {
    const advice = suggestion(String(kind), Object.keys(schemas));
    throw new TypeError(`fromJson(): unknown kind ${JSON.stringify(kind)}: ${advice}`);
  }
  const schema: GenMessage<ProtocolObjects[K]> = schemas[kind];
  const { message, violations } = readJson(schema, json as JsonValue, { lenient });
  const missing = lenient ? [] : validateRead(schema, message, noLimits());
  if (violations.length > 0 || missing.length > 0) throw invalidParams(...mergeViolations(violations, missing));
  return message as ProtocolObjects[K];
}

const schemas: { readonly [K in ProtocolKind]: GenMessage<ProtocolObjects[K]> } = {
  AgentCard: AgentCardSchema,
  Artifact: ArtifactSchema,
  Message: MessageSchema,
  Part: PartSchema,
  SendMessageRequest: SendMessageRequestSchema,
  StreamResponse: StreamResponseSchema,
  Task: TaskSchema,
  TaskArtifactUpdateEvent: TaskArtifactUpdateEventSchema,
  TaskPushNotificationConfig: TaskPushNotificationConfigSchema,
  TaskStatus: TaskStatusSchema,
  TaskStatusUpdateEvent: TaskStatusUpdateEventSchema,
};

// JSON that a program reads itself was limited when it arrived. A function, so that bundlers leave it out with `fromJson`.
function noLimits(): ValidationLimits {
  const most = Number.POSITIVE_INFINITY;
  const lengths = { idMaxLength: most, uriMaxLength: most, mediaTypeMaxLength: most, nameMaxLength: most };
  return { ...defaultValidationLimits, ...lengths, tokenMaxLength: most, partsMax: most, entriesMax: most };
}
