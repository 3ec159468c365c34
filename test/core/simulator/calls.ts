import type { RequestHandler } from "../../../src/core/request-handler.js";
import { createContext, type OpenContext } from "../../../src/protocol/context.js";
import { idempotentSendExtension } from "../../../src/protocol/extensions.js";
import {
  type CancelTaskRequest,
  type GetTaskRequest,
  type ListTasksRequest,
  Role,
  type SendMessageRequest,
  type SubscribeToTaskRequest,
} from "../../../src/protocol/model.js";
import { text } from "../../../src/protocol/parts.js";
import { withTaskNames } from "../../../src/version/v0.1/named-tasks.js";

export function callContext(after?: string): OpenContext {
  const principal = { owner: "alice" };
  return createContext({ principal, binding: "JSONRPC", version: "1.0", extensions: [], after });
}

/** The context of a send. `once`: the send is idempotent. */
export function sendContext({ once = false }: { readonly once?: boolean }): OpenContext {
  const extensions = once ? [idempotentSendExtension] : [];
  return createContext({ ...callContext(), extensions, after: undefined });
}

/** The operations for callers that name their tasks. */
export function operationsOfNames({ operations, taskNames }: RequestHandler): RequestHandler["operations"] {
  return withTaskNames(operations, taskNames);
}

export interface SendOptions {
  readonly messageId: string;
  readonly script: number;
  readonly taskId?: string | undefined;
  readonly immediately?: boolean | undefined;
  readonly historyLength?: number | undefined;
}

export function sendRequest({
  messageId,
  script,
  taskId = "",
  immediately = false,
  historyLength,
}: SendOptions): SendMessageRequest {
  return {
    $typeName: "lf.a2a.v1.SendMessageRequest",
    tenant: "",
    message: {
      $typeName: "lf.a2a.v1.Message",
      messageId,
      contextId: "",
      taskId,
      role: Role.USER,
      parts: [text(`${script}`)],
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: {
      $typeName: "lf.a2a.v1.SendMessageConfiguration",
      acceptedOutputModes: [],
      returnImmediately: immediately,
      ...(historyLength === undefined ? {} : { historyLength }),
    },
  };
}

export const subscribeRequest = (id: string): SubscribeToTaskRequest => ({
  $typeName: "lf.a2a.v1.SubscribeToTaskRequest",
  tenant: "",
  id,
});

export const getRequest = (id: string): GetTaskRequest => ({ $typeName: "lf.a2a.v1.GetTaskRequest", tenant: "", id });

export const cancelRequest = (id: string): CancelTaskRequest => ({
  $typeName: "lf.a2a.v1.CancelTaskRequest",
  tenant: "",
  id,
});

export const listRequest = (pageToken = ""): ListTasksRequest => ({
  $typeName: "lf.a2a.v1.ListTasksRequest",
  tenant: "",
  contextId: "",
  status: 0,
  pageSize: 3,
  pageToken,
});
