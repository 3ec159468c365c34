import type { DescField, DescMessage } from "@bufbuild/protobuf";
import type { DynamicMessage } from "../codec/outline/dynamic.js";
import { type Message, Role, typeNames } from "../model.js";
import type { ValidationLimits } from "../validation-limits.js";
import type { Violations } from "../violations.js";

// The protocol's rules for single fields beyond type and REQUIRED (spec 2.3, 2.4), by schema name.
// `Message.field` takes precedence over `field`.

/** The limit for the length of a string, or of each string of a list. */
const lengthRules: ReadonlyMap<string, keyof ValidationLimits> = new Map([
  ["id", "idMaxLength"],
  ["message_id", "idMaxLength"],
  ["context_id", "idMaxLength"],
  ["task_id", "idMaxLength"],
  ["artifact_id", "idMaxLength"],
  ["reference_task_ids", "idMaxLength"],
  ["tenant", "idMaxLength"],
  ["extensions", "uriMaxLength"],
  ["TaskPushNotificationConfig.url", "uriMaxLength"],
  ["media_type", "mediaTypeMaxLength"],
  ["accepted_output_modes", "mediaTypeMaxLength"],
  ["name", "nameMaxLength"],
  ["filename", "nameMaxLength"],
  ["page_token", "tokenMaxLength"],
  ["token", "tokenMaxLength"],
  ["scheme", "tokenMaxLength"],
  ["credentials", "tokenMaxLength"],
]);

const rangeRules: ReadonlyMap<string, readonly [min: number, max: number]> = new Map([
  ["history_length", [0, Number.POSITIVE_INFINITY]],
  ["page_size", [0, Number.POSITIVE_INFINITY]],
  ["ListTasksRequest.page_size", [1, 100]],
] as const);

/** Strings that become headers of a webhook call. */
const headerRules: ReadonlySet<string> = new Set([
  "TaskPushNotificationConfig.token",
  "AuthenticationInfo.scheme",
  "AuthenticationInfo.credentials",
]);

/** The limit for the length of a string field. */
export function findLengthRule(field: DescField): keyof ValidationLimits | undefined {
  return lengthRules.get(joinNames(field)) ?? lengthRules.get(field.name);
}

/** The limit for the number of entries of a list field. */
export function findCountRule(field: DescField): keyof ValidationLimits {
  return field.name === "parts" ? "partsMax" : "entriesMax";
}

/** The range of an integer field, bounds included. */
export function findRangeRule(field: DescField): readonly [min: number, max: number] | undefined {
  return rangeRules.get(joinNames(field)) ?? rangeRules.get(field.name);
}

/** True for a string that must be a valid header value. */
export function isHeaderField(field: DescField): boolean {
  return headerRules.has(joinNames(field));
}

function joinNames(field: DescField): string {
  return `${field.parent.name}.${field.name}`;
}

type RootRule = (request: DynamicMessage, violations: Violations) => void;

// Rules for a message as the request of an operation, but not nested in another.
const rootRules: ReadonlyMap<string, RootRule> = new Map<string, RootRule>([
  [
    typeNames.SendMessageRequest,
    ({ message }, violations) => {
      const isAgent = (message as Message | undefined)?.role === Role.AGENT;
      if (isAgent) violations.push({ field: "message.role", description: "must be ROLE_USER in a request" });
    },
  ],
  [
    typeNames.TaskPushNotificationConfig,
    ({ taskId }, violations) => {
      if (taskId === "") violations.push({ field: "taskId", description: "is required" });
    },
  ],
]);

/** The rule of a message as the request of an operation. */
export function findRootRule(desc: DescMessage): RootRule | undefined {
  return rootRules.get(desc.typeName);
}
