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

export function callContext(after?: string): OpenContext {
  const principal = { owner: "alice" };
  return createContext({ principal, binding: "JSONRPC", version: "1.0", extensions: [], after });
}

/** How a send is meant beside what it says. */
export interface SendManner {
  /** It shall be done once. */
  readonly once?: boolean | undefined;
  /** Its task is known to the caller by a name. */
  readonly named?: boolean | undefined;
}

export function sendContext({ once = false, named = false }: SendManner): OpenContext {
  const extensions = once ? [idempotentSendExtension] : [];
  return createContext({ ...callContext(), extensions, after: undefined, callersNameTasks: named });
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
