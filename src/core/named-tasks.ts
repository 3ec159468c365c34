import type { Scope, ServerContext } from "../protocol/context.js";
import type { SendMessageRequest, SendMessageResponse, TaskPushNotificationConfig } from "../protocol/model.js";
import type { OperationName, Operations } from "../protocol/operations.js";
import { messageUnderName, taskUnderName } from "../protocol/under-name.js";
import { errorUnderName, namedStream } from "./named-stream.js";
import type { TaskStore } from "./ports.js";
import { NameTaken } from "./store-failure.js";

// Callers of some versions choose the ids of their tasks. Such an id is a name: it stands for one task of its scope, whose
// id is ours. Requests come in with names and replies go out with them. A task that was made without a name is known to
// these callers too, by its id.

/** The operations with ids that are ours. `name`: what the caller calls the task of the call, or wants a new one called. */
export type CalledOperations = {
  readonly [K in OperationName]: (
    request: Parameters<Operations<ServerContext>[K]>[0],
    context: ServerContext,
    name?: string,
  ) => ReturnType<Operations<ServerContext>[K]>;
};

export interface TaskNames {
  readonly store: Pick<TaskStore, "taskNamed" | "head">;
  readonly scopeOf: (context: ServerContext, request: { readonly tenant: string }) => Scope;
}

/** A call about one task, by what its caller calls it. */
interface Named {
  readonly context: ServerContext;
  readonly request: { readonly tenant: string };
  readonly name: string;
}

/** The same operations for callers of both kinds: those who name their tasks, and those who take ids as they are given. */
export function withTaskNames(by: CalledOperations, names: TaskNames): Operations<ServerContext> {
  return { ...by, ...namedSends(by, names), ...namedTasks(by, names), ...namedPushConfigs(by, names) };
}

const maxTries = 20;

type Sends = Pick<Operations<ServerContext>, "sendMessage" | "sendStreamingMessage">;

function namedSends(by: CalledOperations, names: TaskNames): Sends {
  // A new task's name may be given to another one at the same moment: then the message goes there.
  const sendUnder = async (request: SendMessageRequest, context: ServerContext): Promise<SendMessageResponse> => {
    const name = nameIn(request);
    for (let tries = 1; ; tries++) {
      try {
        return responseOf(await by.sendMessage(await placed(names, request, context), context, name), name);
      } catch (error) {
        if (!(error instanceof NameTaken) || tries === maxTries) throw errorUnderName(error, name);
      }
    }
  };
  return {
    sendMessage: (request, context) =>
      context.callersNameTasks && nameIn(request) !== ""
        ? sendUnder(request, context)
        : by.sendMessage(request, context),
    sendStreamingMessage(request, context) {
      const name = context.callersNameTasks ? nameIn(request) : "";
      if (name === "") return by.sendStreamingMessage(request, context);
      const open = async () => by.sendStreamingMessage(await placed(names, request, context), context, name);
      return namedStream(name, open, maxTries);
    },
  };
}

function namedTasks(
  by: CalledOperations,
  names: TaskNames,
): Pick<Operations<ServerContext>, "getTask" | "cancelTask" | "subscribeToTask"> {
  return {
    getTask(request, context) {
      if (!context.callersNameTasks) return by.getTask(request, context);
      const named = { context, request, name: request.id };
      return under(names, named, async (id) =>
        taskUnderName(await by.getTask({ ...request, id }, context), request.id),
      );
    },
    cancelTask(request, context) {
      if (!context.callersNameTasks) return by.cancelTask(request, context);
      const named = { context, request, name: request.id };
      const cancel = async (id: string) => taskUnderName(await by.cancelTask({ ...request, id }, context), request.id);
      return under(names, named, cancel);
    },
    subscribeToTask(request, context) {
      if (!context.callersNameTasks) return by.subscribeToTask(request, context);
      const named = { context, request, name: request.id };
      const open = async () => by.subscribeToTask({ ...request, id: await idOf(names, named) }, context);
      return namedStream(request.id, open, 1);
    },
  };
}

type PushConfigs = Pick<
  Operations<ServerContext>,
  | "createTaskPushNotificationConfig"
  | "getTaskPushNotificationConfig"
  | "listTaskPushNotificationConfigs"
  | "deleteTaskPushNotificationConfig"
>;

function namedPushConfigs(by: CalledOperations, names: TaskNames): PushConfigs {
  const nameOf = (request: Named["request"] & { readonly taskId: string }, context: ServerContext): Named => ({
    context,
    request,
    name: request.taskId,
  });
  return {
    createTaskPushNotificationConfig(request, context) {
      if (!context.callersNameTasks) return by.createTaskPushNotificationConfig(request, context);
      const named = nameOf(request, context);
      const create = async (taskId: string) =>
        configUnderName(
          await by.createTaskPushNotificationConfig({ ...request, taskId }, context, named.name),
          named.name,
        );
      return under(names, named, create);
    },
    getTaskPushNotificationConfig(request, context) {
      if (!context.callersNameTasks) return by.getTaskPushNotificationConfig(request, context);
      const named = nameOf(request, context);
      const get = async (taskId: string) =>
        configUnderName(await by.getTaskPushNotificationConfig({ ...request, taskId }, context), named.name);
      return under(names, named, get);
    },
    listTaskPushNotificationConfigs(request, context) {
      if (!context.callersNameTasks) return by.listTaskPushNotificationConfigs(request, context);
      const named = nameOf(request, context);
      return under(names, named, async (taskId) => {
        const page = await by.listTaskPushNotificationConfigs({ ...request, taskId }, context);
        return { ...page, configs: page.configs.map((config) => configUnderName(config, named.name)) };
      });
    },
    deleteTaskPushNotificationConfig(request, context) {
      if (!context.callersNameTasks) return by.deleteTaskPushNotificationConfig(request, context);
      const remove = (taskId: string) => by.deleteTaskPushNotificationConfig({ ...request, taskId }, context);
      return under(names, nameOf(request, context), remove);
    },
  };
}

/** Asks about the task of a name; what is not found is looked for as an id. */
async function under<T>(names: TaskNames, named: Named, ask: (id: string) => Promise<T>): Promise<T> {
  try {
    return await ask(await idOf(names, named));
  } catch (error) {
    throw errorUnderName(error, named.name);
  }
}

async function idOf({ store, scopeOf }: TaskNames, { context, request, name }: Named): Promise<string> {
  return (await store.taskNamed(scopeOf(context, request), name)) ?? name;
}

/** The send with the id of its task in the place of the name; with none when there is no such task yet. */
async function placed(
  { store, scopeOf }: TaskNames,
  request: SendMessageRequest,
  context: ServerContext,
): Promise<SendMessageRequest> {
  const { message } = request;
  if (message === undefined) return request;
  const scope = scopeOf(context, request);
  const known = await store.taskNamed(scope, message.taskId);
  const taskId = known ?? (await store.head(scope, message.taskId))?.id ?? "";
  return { ...request, message: { ...message, taskId } };
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
