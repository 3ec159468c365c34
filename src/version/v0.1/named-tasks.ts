import { create } from "@bufbuild/protobuf";
import { changeContext, type ServerContext } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import {
  GetTaskRequestSchema,
  type SendMessageRequest,
  type SendMessageResponse,
  type TaskPushNotificationConfig,
} from "../../protocol/model.js";
import type { Operations } from "../../protocol/operations.js";
import { messageUnderName, NameTaken, type TaskNames, taskUnderName } from "../../protocol/task-names.js";
import { errorUnderName, namedStream } from "./named-stream.js";

// Callers of 0.1 choose the ids of their tasks. We treat such an id as a name that maps to one task of its owner, which
// has an id made here. Requests arrive with names and replies leave with them. Callers refer to a task without a name by
// its id.

type Handler = Operations<ServerContext>;

/** A call about one task, with the caller's name for it. */
interface CallByName {
  readonly context: ServerContext;
  readonly name: string;
}

const maxTries = 20;

/** Wraps the handler for callers that name their tasks. */
export function withTaskNames(handler: Handler, names: TaskNames): Handler {
  return {
    ...handler,
    ...namedSends(handler, names),
    ...namedTasks(handler, names),
    ...namedPushConfigs(handler, names),
  };
}

function namedSends(handler: Handler, names: TaskNames): Pick<Handler, "sendMessage" | "sendStreamingMessage"> {
  // If another new task takes the name at the same moment, the message goes to that task.
  const sendUnder = async (request: SendMessageRequest, call: CallByName): Promise<SendMessageResponse> => {
    const { context, name } = call;
    for (let tries = 1; ; tries++) {
      try {
        return responseOf(
          await handler.sendMessage(await withTaskId(handler, names, { request, context }), context),
          name,
        );
      } catch (error) {
        if (!(error instanceof NameTaken) || tries === maxTries) throw errorUnderName(error, name);
      }
    }
  };
  return {
    sendMessage(request, context) {
      const name = nameIn(request);
      return name === ""
        ? handler.sendMessage(request, context)
        : sendUnder(request, { context: changeContext(context, { taskName: name }), name });
    },
    sendStreamingMessage(request, context) {
      const name = nameIn(request);
      if (name === "") return handler.sendStreamingMessage(request, context);
      const namingContext = changeContext(context, { taskName: name });
      const open = async () =>
        handler.sendStreamingMessage(
          await withTaskId(handler, names, { request, context: namingContext }),
          namingContext,
        );
      return namedStream(name, open, maxTries);
    },
  };
}

function namedTasks(handler: Handler, names: TaskNames): Pick<Handler, "getTask" | "cancelTask" | "subscribeToTask"> {
  return {
    getTask: (request, context) =>
      callUnderName(names, { context, name: request.id }, async (id) =>
        taskUnderName(await handler.getTask({ ...request, id }, context), request.id),
      ),
    cancelTask: (request, context) =>
      callUnderName(names, { context, name: request.id }, async (id) =>
        taskUnderName(await handler.cancelTask({ ...request, id }, context), request.id),
      ),
    subscribeToTask(request, context) {
      const call = { context, name: request.id };
      const open = async () => handler.subscribeToTask({ ...request, id: await idOf(names, call) }, context);
      return namedStream(request.id, open, 1);
    },
  };
}

type PushConfigs = Pick<
  Handler,
  | "createTaskPushNotificationConfig"
  | "getTaskPushNotificationConfig"
  | "listTaskPushNotificationConfigs"
  | "deleteTaskPushNotificationConfig"
>;

function namedPushConfigs(handler: Handler, names: TaskNames): PushConfigs {
  return {
    createTaskPushNotificationConfig(request, context) {
      const name = request.taskId;
      const namingContext = changeContext(context, { taskName: name });
      return callUnderName(names, { context, name }, async (taskId) =>
        configUnderName(await handler.createTaskPushNotificationConfig({ ...request, taskId }, namingContext), name),
      );
    },
    getTaskPushNotificationConfig(request, context) {
      const name = request.taskId;
      return callUnderName(names, { context, name }, async (taskId) =>
        configUnderName(await handler.getTaskPushNotificationConfig({ ...request, taskId }, context), name),
      );
    },
    listTaskPushNotificationConfigs(request, context) {
      const name = request.taskId;
      return callUnderName(names, { context, name }, async (taskId) => {
        const page = await handler.listTaskPushNotificationConfigs({ ...request, taskId }, context);
        return { ...page, configs: page.configs.map((config) => configUnderName(config, name)) };
      });
    },
    deleteTaskPushNotificationConfig(request, context) {
      const remove = (taskId: string) => handler.deleteTaskPushNotificationConfig({ ...request, taskId }, context);
      return callUnderName(names, { context, name: request.taskId }, remove);
    },
  };
}

/** Calls `ask` with the id of the named task. An unknown name is used as an id. */
async function callUnderName<T>(names: TaskNames, call: CallByName, invoke: (id: string) => Promise<T>): Promise<T> {
  try {
    return await invoke(await idOf(names, call));
  } catch (error) {
    throw errorUnderName(error, call.name);
  }
}

async function idOf(names: TaskNames, { context, name }: CallByName): Promise<string> {
  return (await names.find(context.principal, name)) ?? name;
}

/** Replaces the task name of a send by the task's id, or by an empty id if the task does not exist yet. */
async function withTaskId(
  handler: Handler,
  names: TaskNames,
  { request, context }: { readonly request: SendMessageRequest; readonly context: ServerContext },
): Promise<SendMessageRequest> {
  const { message } = request;
  if (message === undefined) return request;
  const name = message.taskId;
  const idOfName = await names.find(context.principal, name);
  const taskId = idOfName ?? ((await isTask(handler, name, context)) ? name : "");
  return { ...request, message: { ...message, taskId } };
}

/** Whether a name is the id of a task. Throws if this cannot be determined. */
async function isTask(handler: Handler, id: string, context: ServerContext): Promise<boolean> {
  try {
    await handler.getTask(create(GetTaskRequestSchema, { id, historyLength: 0 }), context);
    return true;
  } catch (error) {
    if (!(error instanceof A2AError) || error.code === "unavailable") throw error;
    return false;
  }
}

function nameIn({ message }: SendMessageRequest): string {
  return message?.taskId ?? "";
}

function responseOf(response: SendMessageResponse, name: string): SendMessageResponse {
  const { payload } = response;
  if (payload.case === "task")
    return { ...response, payload: { case: "task", value: taskUnderName(payload.value, name) } };
  if (payload.case !== "message") return response;
  return { ...response, payload: { case: "message", value: messageUnderName(payload.value, name) } };
}

function configUnderName(config: TaskPushNotificationConfig, taskId: string): TaskPushNotificationConfig {
  return { ...config, taskId };
}
