import { create } from "@bufbuild/protobuf";
import { createStepStream, endStep, type Step, type StepStream } from "../../protocol/async/steps.js";
import { changeContext, type ServerContext } from "../../protocol/context.js";
import { A2AError, changeError } from "../../protocol/errors.js";
import { GetTaskRequestSchema, type SendMessageRequest, type SendMessageResponse } from "../../protocol/model.js";
import type { Operations, StreamItem } from "../../protocol/operations.js";
import {
  messageUnderName,
  NameTaken,
  responseUnderName,
  type TaskNames,
  taskUnderName,
} from "../../protocol/task-names.js";

// Callers of 0.1 choose the ids of their tasks. We treat such an id as a name that stands for one task of its owner, whose id
// is made here. A call passes three steps: the name is looked up (an unknown one is used as an id); the handler runs with
// the id, or with no id and the name in its context, so that a new task gets the name; and what it answers gets the name in
// place of the id. If another process makes a task of the same name at the same moment, one of the two first writes is
// refused with `NameTaken` before its agent starts, and the call begins anew and finds the other task.

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
    async sendMessage(request, context) {
      const name = readName(request);
      if (name === "") return handler.sendMessage(request, context);
      const call = { context: changeContext(context, { taskName: name }), name };
      for (let tries = 1; ; tries++) {
        try {
          const reply = await handler.sendMessage(await withTaskId(handler, names, request, call), call.context);
          return renameReply(reply, name);
        } catch (error) {
          if (!(error instanceof NameTaken) || tries === maxTries) throw renameError(error, name);
        }
      }
    },
    sendStreamingMessage(request, context) {
      const name = readName(request);
      if (name === "") return handler.sendStreamingMessage(request, context);
      const call = { context: changeContext(context, { taskName: name }), name };
      const open = async () =>
        handler.sendStreamingMessage(await withTaskId(handler, names, request, call), call.context);
      return openNamedStream(name, open, maxTries);
    },
    getTask: (request, context) =>
      callById(names, { context, name: request.id }, async (id) =>
        taskUnderName(await handler.getTask({ ...request, id }, context), request.id),
      ),
    cancelTask: (request, context) =>
      callById(names, { context, name: request.id }, async (id) =>
        taskUnderName(await handler.cancelTask({ ...request, id }, context), request.id),
      ),
    subscribeToTask(request, context) {
      const call = { context, name: request.id };
      const open = async () => handler.subscribeToTask({ ...request, id: await findId(names, call) }, context);
      return openNamedStream(request.id, open, 1);
    },
    createTaskPushNotificationConfig(request, context) {
      const name = request.taskId;
      const namingContext = changeContext(context, { taskName: name });
      return callById(names, { context, name }, async (taskId) => ({
        ...(await handler.createTaskPushNotificationConfig({ ...request, taskId }, namingContext)),
        taskId: name,
      }));
    },
    getTaskPushNotificationConfig(request, context) {
      const name = request.taskId;
      return callById(names, { context, name }, async (taskId) => ({
        ...(await handler.getTaskPushNotificationConfig({ ...request, taskId }, context)),
        taskId: name,
      }));
    },
    listTaskPushNotificationConfigs(request, context) {
      const name = request.taskId;
      return callById(names, { context, name }, async (taskId) => {
        const page = await handler.listTaskPushNotificationConfigs({ ...request, taskId }, context);
        return { ...page, configs: page.configs.map((config) => ({ ...config, taskId: name })) };
      });
    },
    deleteTaskPushNotificationConfig(request, context) {
      const remove = (taskId: string) => handler.deleteTaskPushNotificationConfig({ ...request, taskId }, context);
      return callById(names, { context, name: request.taskId }, remove);
    },
  };
}

function readName({ message }: SendMessageRequest): string {
  return message?.taskId ?? "";
}

/** Calls `invoke` with the id of the named task. An unknown name is used as an id. */
async function callById<T>(names: TaskNames, call: CallByName, invoke: (id: string) => Promise<T>): Promise<T> {
  try {
    return await invoke(await findId(names, call));
  } catch (error) {
    throw renameError(error, call.name);
  }
}

async function findId(names: TaskNames, { context, name }: CallByName): Promise<string> {
  return (await names.find(context.principal, name)) ?? name;
}

/** Replaces the task name of a send by the task's id, or by an empty id if the task does not exist yet. */
async function withTaskId(
  handler: Handler,
  names: TaskNames,
  request: SendMessageRequest,
  { context, name }: CallByName,
): Promise<SendMessageRequest> {
  const { message } = request;
  if (message === undefined) return request;
  const id = await names.find(context.principal, name);
  const taskId = id ?? ((await isTask(handler, name, context)) ? name : "");
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

/**
 * The stream of a task whose caller uses a name for it. Opens on the first read. Reopens, up to `tries` attempts in
 * all, if the name was given to another task before the first item.
 */
function openNamedStream(
  name: string,
  open: () => Promise<AsyncIterable<StreamItem>>,
  tries: number,
): StepStream<StreamItem> {
  let triesLeft = tries;
  let source: AsyncIterator<StreamItem> | undefined;
  let isOver = false;
  const read = async (): Promise<Step<StreamItem>> => {
    try {
      if (source === undefined) {
        triesLeft -= 1;
        source = (await open())[Symbol.asyncIterator]();
      }
      const step = source.next();
      // Closed while opening. The message is still sent, as in any other stream.
      if (isOver) await source.return?.();
      return await step;
    } catch (error) {
      source = undefined;
      if (error instanceof NameTaken && triesLeft > 0) return read();
      isOver = true;
      throw renameError(error, name);
    }
  };
  const next = async (): Promise<Step<StreamItem>> => {
    const step = isOver ? endStep : await read();
    if (step.done !== true) return { done: false, value: renameItem(step.value, name) };
    isOver = true;
    return endStep;
  };
  return createStepStream(next, () => {
    isOver = true;
    return source?.return?.();
  });
}

const slot = Symbol("under a name");

// Cached on the item, which all readers that keep up share, so that each version encodes it once. A task has one name,
// but callers may use its id as well.
function renameItem(item: StreamItem, name: string): StreamItem {
  const cachedItem: StreamItem & { [slot]?: { readonly name: string; readonly item: StreamItem } } = item;
  if (cachedItem[slot]?.name === name) return cachedItem[slot].item;
  // Not a spread: the other caches on the item belong to the event without the name.
  const renamedItem = { response: responseUnderName(item.response, name), id: item.id };
  cachedItem[slot] = { name, item: renamedItem };
  return renamedItem;
}

function renameReply(reply: SendMessageResponse, name: string): SendMessageResponse {
  const { payload } = reply;
  if (payload.case === "task")
    return { ...reply, payload: { case: "task", value: taskUnderName(payload.value, name) } };
  if (payload.case !== "message") return reply;
  return { ...reply, payload: { case: "message", value: messageUnderName(payload.value, name) } };
}

function renameError(error: unknown, name: string): unknown {
  if (!(error instanceof A2AError) || error.metadata["taskId"] === undefined) return error;
  return changeError(error, { metadata: { ...error.metadata, taskId: name } });
}
