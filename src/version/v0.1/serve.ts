import { create } from "@bufbuild/protobuf";
import type { ServerContext } from "../../protocol/context.js";
import { type TaskPushNotificationConfig, TaskPushNotificationConfigSchema } from "../../protocol/model.js";
import {
  type Operation,
  type OperationName,
  type Operations,
  operationOf,
  type RequestOf,
  type StreamItem,
} from "../../protocol/operations.js";
import { serveOld } from "../v0.3/serve.js";
import { endsStream } from "./stream-writer.js";

type Handler = Operations<ServerContext>;

/**
 * The handler as callers of 0.1 expect it: streams begin anew whatever id a caller names, and end where the task waits for
 * its caller; a task has one push configuration, and setting none deletes it.
 */
export function serveOldest(handler: Handler): Handler {
  const old = serveOld(handler);
  return {
    ...old,
    sendStreamingMessage: (request, context) =>
      new EndingStream(old.sendStreamingMessage(request, withoutPosition(context)), "sendStreamingMessage"),
    subscribeToTask: (request, context) =>
      new EndingStream(old.subscribeToTask(request, withoutPosition(context)), "subscribeToTask"),
    async createTaskPushNotificationConfig(request, context) {
      if (request.url !== "") return old.createTaskPushNotificationConfig(request, context);
      const { taskId, id } = await configOf(old, request, context);
      if (id !== "") await old.deleteTaskPushNotificationConfig(deletion(taskId, id), context);
      return noConfig(request.taskId);
    },
    getTaskPushNotificationConfig: (request, context) => configOf(old, request, context),
  };
}

/** The configuration of a task; an empty one when it has none. Throws `taskNotFound` when there is no such task. */
async function configOf(
  handler: Handler,
  { taskId }: { readonly taskId: string },
  context: ServerContext,
): Promise<TaskPushNotificationConfig> {
  const request = blank<"listTaskPushNotificationConfigs">(operationOf("listTaskPushNotificationConfigs"));
  const { configs } = await handler.listTaskPushNotificationConfigs({ ...request, taskId }, context);
  return configs.find(({ id }) => id === taskId) ?? configs[0] ?? noConfig(taskId);
}

function noConfig(taskId: string): TaskPushNotificationConfig {
  return create(TaskPushNotificationConfigSchema, { taskId });
}

function deletion(taskId: string, id: string): RequestOf<"deleteTaskPushNotificationConfig"> {
  const request = blank<"deleteTaskPushNotificationConfig">(operationOf("deleteTaskPushNotificationConfig"));
  return { ...request, taskId, id };
}

function blank<K extends OperationName>({ input }: Operation): RequestOf<K> {
  return create(input) as RequestOf<K>;
}

/** The context of a call that goes on behind no event. */
function withoutPosition(context: ServerContext): ServerContext {
  if (context.after === undefined) return context;
  const { principal, binding, version, extensions, caller, callersNameTasks } = context;
  return {
    ...{ principal, binding, version, extensions, caller, callersNameTasks, after: undefined },
    // Made only when it is asked for.
    get signal() {
      return context.signal;
    },
  };
}

type Step = IteratorResult<StreamItem, undefined>;
const end: Step = { done: true, value: undefined };

/** A stream that ends behind the event with which a stream of 0.1 ends. By hand, so that it can be left while it waits. */
class EndingStream implements AsyncIterableIterator<StreamItem, undefined> {
  readonly #items: AsyncIterator<StreamItem>;
  readonly #operation: OperationName;
  #isOver = false;

  constructor(items: AsyncIterable<StreamItem>, operation: OperationName) {
    this.#items = items[Symbol.asyncIterator]();
    this.#operation = operation;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Step> {
    if (this.#isOver) return this.return();
    const step = await this.#items.next();
    if (step.done === true) return end;
    this.#isOver = endsStream(step.value.response, this.#operation);
    return step;
  }

  async return(): Promise<Step> {
    this.#isOver = true;
    await this.#items.return?.();
    return end;
  }
}
