import { create } from "@bufbuild/protobuf";
import { randomUuid } from "../protocol/id/random-uuid.js";
import {
  type Message,
  type Part,
  Role,
  SendMessageConfigurationSchema,
  type SendMessageRequest,
  typeNames,
} from "../protocol/model.js";
import { type Content, toParts } from "../protocol/parts.js";
import type { StateName } from "../protocol/states.js";
import { type Continuation, checkSendOptions, type SendOptions } from "./send-options.js";

/** The request that sends content to an agent. */
export function sendRequest(content: Content, options: SendOptions): SendMessageRequest {
  const { messageId, referenceTaskIds = [], metadata, configuration, tenant = "" } = options;
  checkSendOptions(options);
  const { taskId, contextId } = readContinuation(options.continue);
  const message: Message = {
    $typeName: typeNames.Message,
    messageId: messageId ?? randomUuid(),
    role: Role.USER,
    taskId,
    contextId,
    parts: toParts(content).map(checkPart),
    extensions: [],
    referenceTaskIds: [...referenceTaskIds],
  };
  if (metadata !== undefined) message.metadata = metadata;
  const request: SendMessageRequest = { $typeName: typeNames.SendMessageRequest, tenant, message };
  if (configuration !== undefined) request.configuration = create(SendMessageConfigurationSchema, configuration);
  return request;
}

// A program may be written without TypeScript; `{ text }` is a part in JSON.
function checkPart(part: Part): Part {
  if (typeof part?.content === "object") return part;
  const json = JSON.stringify(part)?.slice(0, 80);
  throw new TypeError(`content must be a text, a part as data() and file() make it, or a list of them, not ${json}`);
}

/** States of an answer whose task takes no more messages, or that has none. */
const endings: ReadonlySet<unknown> = new Set<StateName | "message">([
  "completed",
  "failed",
  "canceled",
  "rejected",
  "message",
]);

function readContinuation(before: Continuation | undefined): { readonly taskId: string; readonly contextId: string } {
  if (before === undefined) return newConversation;
  const { taskId = "", contextId, state } = before;
  return { taskId: endings.has(state) ? "" : taskId, contextId };
}

const newConversation = { taskId: "", contextId: "" };

/** Adds the members that a message must have and the sender left out: its id and its role. */
export function completeMessage(request: SendMessageRequest): SendMessageRequest {
  const { message } = request;
  if (message === undefined || (message.messageId !== "" && message.role !== Role.UNSPECIFIED)) return request;
  const messageId = message.messageId || randomUuid();
  const role = message.role === Role.UNSPECIFIED ? Role.USER : message.role;
  return { ...request, message: { ...message, messageId, role } };
}
