import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { ErrorCode } from "../../../src/protocol/errors.js";

// Calls and replies of 0.3 over JSON-RPC as peers write them, with the example numbers of our reference.

export interface Call {
  readonly id: string;
  readonly method: string;
  readonly params?: JsonObject;
  readonly result?: JsonValue;
  /** Members that we write although the example omits them. */
  readonly adds?: JsonObject;
}

const text = (content: string): JsonObject => ({ kind: "text", text: content });

const userMessage: JsonObject = {
  kind: "message",
  messageId: "m-1",
  role: "user",
  parts: [text("Which berth is free on 4 May?"), { kind: "data", data: { length: 182.5, draught: 9.1 } }],
};

const question: JsonObject = {
  kind: "message",
  messageId: "m-2",
  role: "agent",
  taskId: "t-2",
  contextId: "c-1",
  parts: [text("What do you carry?")],
};

const configuration = { acceptedOutputModes: ["text/plain", "application/json"], blocking: true };
const unsaid = { configuration: { acceptedOutputModes: [], blocking: true } };

export const calls: readonly Call[] = [
  {
    id: "E1",
    method: "message/send",
    params: { message: userMessage, configuration: { ...configuration, historyLength: 1 } },
  },
  {
    id: "E2",
    method: "message/send",
    params: { message: userMessage, configuration },
    result: {
      kind: "task",
      id: "t-1",
      contextId: "c-1",
      status: { state: "completed", timestamp: "2025-09-01T08:00:02.120Z" },
      artifacts: [{ artifactId: "a-1", name: "berth", parts: [{ kind: "data", data: { berth: "K4" } }] }],
      history: [{ ...userMessage, taskId: "t-1", contextId: "c-1" }],
    },
  },
  {
    id: "E3",
    method: "message/send",
    params: { message: userMessage },
    adds: unsaid,
    result: { kind: "message", messageId: "m-3", role: "agent", contextId: "c-1", parts: [text("Take a pilot.")] },
  },
  {
    id: "E4",
    method: "message/send",
    params: { message: { ...userMessage, messageId: "m-4", taskId: "t-2", contextId: "c-1" }, configuration },
    result: { kind: "task", id: "t-2", contextId: "c-1", status: { state: "input-required", message: question } },
  },
  { id: "E6", method: "tasks/get", params: { id: "t-1", historyLength: 2 } },
  { id: "E7", method: "tasks/cancel", params: { id: "t-1", metadata: { reason: "late" } } },
  { id: "E8", method: "tasks/resubscribe", params: { id: "t-3" } },
  {
    id: "E9",
    method: "tasks/pushNotificationConfig/set",
    params: {
      taskId: "t-3",
      pushNotificationConfig: {
        id: "hook",
        url: "https://ops.example/hook",
        token: "tk",
        authentication: { schemes: ["Bearer"], credentials: "s3cr3t" },
      },
    },
    result: {
      taskId: "t-3",
      pushNotificationConfig: {
        id: "hook",
        url: "https://ops.example/hook",
        token: "tk",
        authentication: { schemes: ["Bearer"] },
      },
    },
  },
  {
    id: "E10 get",
    method: "tasks/pushNotificationConfig/get",
    params: { id: "t-3", pushNotificationConfigId: "hook" },
    result: { taskId: "t-3", pushNotificationConfig: { id: "hook", url: "https://ops.example/hook" } },
  },
  { id: "E10 get without an id", method: "tasks/pushNotificationConfig/get", params: { id: "t-3" } },
  {
    id: "E10 list",
    method: "tasks/pushNotificationConfig/list",
    params: { id: "t-3" },
    result: [{ taskId: "t-3", pushNotificationConfig: { id: "hook", url: "https://ops.example/hook" } }],
  },
  {
    id: "E10 delete",
    method: "tasks/pushNotificationConfig/delete",
    params: { id: "t-3", pushNotificationConfigId: "hook" },
    result: null,
  },
  { id: "E11", method: "agent/getAuthenticatedExtendedCard", params: {} },
  {
    id: "E12",
    method: "message/send",
    adds: unsaid,
    params: {
      message: {
        kind: "message",
        messageId: "m-5",
        role: "user",
        referenceTaskIds: ["t-1"],
        parts: [
          { kind: "file", file: { name: "crew.csv", mimeType: "text/csv", bytes: "bmFtZSxyb2xlCkxpc2EsbWF0ZQo=" } },
          {
            kind: "file",
            file: { mimeType: "application/pdf", uri: "https://docs.example/a.pdf" },
            metadata: { n: 4 },
          },
        ],
      },
    },
  },
];

/** E5: a whole stream, with an artifact in two chunks. */
export const streamed: readonly JsonObject[] = [
  { kind: "task", id: "t-4", contextId: "c-4", status: { state: "submitted" } },
  { kind: "status-update", taskId: "t-4", contextId: "c-4", status: { state: "working" }, final: false },
  chunk("Mon: K4. ", false, false),
  chunk("Tue: K2.", true, true),
  {
    kind: "status-update",
    taskId: "t-4",
    contextId: "c-4",
    status: { state: "completed", timestamp: "2025-09-01T08:01:00.000Z" },
    final: true,
  },
];

function chunk(content: string, append: boolean, lastChunk: boolean): JsonObject {
  const artifact = { artifactId: "a-1", parts: [text(content)] };
  return { kind: "artifact-update", taskId: "t-4", contextId: "c-4", artifact, append, lastChunk };
}

/** E13: the body of a webhook call. */
export const delivered: JsonObject = {
  kind: "task",
  id: "t-3",
  contextId: "c-5",
  status: {
    state: "failed",
    timestamp: "2025-09-01T08:05:00.000Z",
    message: { kind: "message", messageId: "m-6", role: "agent", parts: [text("No berth is deep enough")] },
  },
};

export interface ErrorExample {
  readonly id: string;
  readonly error: JsonObject;
  readonly code: ErrorCode;
}

export const errors: readonly ErrorExample[] = [
  {
    id: "E7",
    code: "taskNotCancelable",
    error: { code: -32002, message: "Task cannot be canceled", data: { taskId: "t-1", state: "completed" } },
  },
  { id: "E8", code: "internalError", error: { code: -32603, message: "Tide service lost" } },
  {
    id: "E11",
    code: "extendedAgentCardNotConfigured",
    error: { code: -32007, message: "Authenticated Extended Card is not configured" },
  },
];
