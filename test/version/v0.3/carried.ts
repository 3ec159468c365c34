import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import type fc from "fast-check";
import {
  ArtifactSchema,
  MessageSchema,
  type Part,
  PartSchema,
  Role,
  SendMessageConfigurationSchema,
  type TaskPushNotificationConfig,
  TaskStatusSchema,
} from "../../../src/protocol/model.js";
import { arbitraryMessage } from "../../support/arbitrary-message.js";

// Random messages of the model, reduced to what kind-JSON can express. Each loss has its own test.

type Fields = { [name: string]: unknown };

/** Random messages of a type that survive kind-JSON unchanged. */
export function arbitraryCarried<Desc extends DescMessage>(
  desc: Desc,
  isRequest = false,
): fc.Arbitrary<MessageShape<Desc>> {
  return arbitraryMessage(desc).map((message) => {
    strip(message, isRequest);
    return message;
  });
}

function strip(value: unknown, isRequest: boolean): void {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return;
  const fields = value as Fields;
  const typeName = fields["$typeName"];
  for (const entry of Object.values(fields)) strip(entry, isRequest);
  if (typeof typeName === "string") stripMessage(typeName, fields, isRequest);
}

function stripMessage(typeName: string, fields: Fields, isRequest: boolean): void {
  if ("tenant" in fields) fields["tenant"] = "";
  switch (typeName) {
    case "lf.a2a.v1.Part":
      stripPart(fields as unknown as Part);
      return;
    case "lf.a2a.v1.Message":
      if (isRequest) fields["role"] = Role.USER;
      else fields["role"] ||= Role.AGENT;
      if (isRequest) fill(fields, ["messageId"]);
      if (isRequest && (fields["parts"] as Part[]).length === 0) fields["parts"] = [textPart()];
      return;
    case "lf.a2a.v1.Task":
    case "lf.a2a.v1.TaskStatusUpdateEvent":
      fields["status"] ??= create(TaskStatusSchema);
      return;
    case "lf.a2a.v1.TaskArtifactUpdateEvent":
      fields["artifact"] ??= create(ArtifactSchema);
      return;
    case "lf.a2a.v1.SendMessageRequest":
      fields["message"] ??= create(MessageSchema, { messageId: "m", role: Role.USER, parts: [textPart()] });
      // An absent and an empty configuration mean the same and are written alike.
      fields["configuration"] ??= create(SendMessageConfigurationSchema);
      return;
    case "lf.a2a.v1.SendMessageConfiguration":
      stripRequest(fields);
      withoutTask(fields["taskPushNotificationConfig"]);
      return;
    default:
      if (isRequest) stripRequest(fields);
  }
}

function stripRequest(fields: Fields): void {
  if (typeof fields["historyLength"] === "number") fields["historyLength"] = Math.abs(fields["historyLength"] | 1);
  for (const name of ["token", "scheme", "credentials"]) {
    if (typeof fields[name] === "string") fields[name] = fields[name].replace(/[^\x20-\x7e]/g, "");
  }
  // Lists are requested without paging.
  if ("pageToken" in fields) Object.assign(fields, { pageToken: "", pageSize: 0 });
  fill(fields, ["id", "taskId", "url", "scheme"]);
}

// The configuration in a send applies to the message's task.
function withoutTask(config: unknown): void {
  if (config !== undefined) (config as TaskPushNotificationConfig).taskId = "";
}

function fill(fields: Fields, names: readonly string[]): void {
  for (const name of names) if (fields[name] === "") fields[name] = "x";
}

// Text and data have neither a name nor a media type, and every part has content.
function stripPart(part: Part): void {
  if (part.content.case === undefined) part.content = { case: "text", value: "" };
  if (part.content.case === "raw" || part.content.case === "url") return;
  part.filename = "";
  part.mediaType = "";
  const isObject = part.content.case !== "data" || part.content.value.kind.case === "structValue";
  if (!isObject && part.metadata !== undefined && Object.keys(part.metadata).length === 0) delete part.metadata;
}

function textPart(): Part {
  return create(PartSchema, { content: { case: "text", value: "hi" } });
}
