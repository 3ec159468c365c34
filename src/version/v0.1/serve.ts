import { create } from "@bufbuild/protobuf";
import { createStepStream, type Step } from "../../protocol/async/steps.js";
import { changeContext, type ServerContext } from "../../protocol/context.js";
import { type TaskPushNotificationConfig, TaskPushNotificationConfigSchema, typeNames } from "../../protocol/model.js";
import type { OperationName, Operations, StreamItem } from "../../protocol/operations.js";
import type { TaskNames } from "../../protocol/task-names.js";
import { serveV03 } from "../v0.3/serve.js";
import { withTaskNames } from "./named-tasks.js";
import { endsStream } from "./stream-writer.js";

type Handler = Operations<ServerContext>;

/**
 * Wraps the handler for callers of 0.1. They name their tasks. Streams ignore resume positions and end when the task
 * waits for its caller. A task has one push configuration, and setting none deletes it.
 */
export function serveV01(handler: Handler, names: TaskNames): Handler {
  const newerHandler = serveV03(withTaskNames(handler, names));
  return {
    ...newerHandler,
    sendStreamingMessage: (request, context) =>
      endingStream(newerHandler.sendStreamingMessage(request, withoutPosition(context)), "sendStreamingMessage"),
    subscribeToTask: (request, context) =>
      endingStream(newerHandler.subscribeToTask(request, withoutPosition(context)), "subscribeToTask"),
    async createTaskPushNotificationConfig(request, context) {
      if (request.url !== "") return newerHandler.createTaskPushNotificationConfig(request, context);
      const { taskId, id } = await findConfig(newerHandler, request, context);
      if (id !== "") {
        const $typeName = typeNames.DeleteTaskPushNotificationConfigRequest;
        await newerHandler.deleteTaskPushNotificationConfig({ $typeName, tenant: "", taskId, id }, context);
      }
      return noConfig(request.taskId);
    },
    getTaskPushNotificationConfig: (request, context) => findConfig(newerHandler, request, context),
  };
}

/**
 * Returns the configuration of a task, or an empty one if it has none. Throws `taskNotFound` if the task does not
 * exist.
 */
async function findConfig(
  handler: Handler,
  { taskId }: { readonly taskId: string },
  context: ServerContext,
): Promise<TaskPushNotificationConfig> {
  const $typeName = typeNames.ListTaskPushNotificationConfigsRequest;
  const request = { $typeName, tenant: "", taskId, pageSize: 0, pageToken: "" } as const;
  const { configs } = await handler.listTaskPushNotificationConfigs(request, context);
  return configs.find(({ id }) => id === taskId) ?? configs[0] ?? noConfig(taskId);
}

function noConfig(taskId: string): TaskPushNotificationConfig {
  return create(TaskPushNotificationConfigSchema, { taskId });
}

/** Returns the context without a resume position. */
function withoutPosition(context: ServerContext): ServerContext {
  return context.after === undefined ? context : changeContext(context, { after: undefined });
}

/** Ends a stream after the event that ends streams of 0.1. */
function endingStream(source: AsyncIterable<StreamItem>, operation: OperationName): AsyncIterable<StreamItem> {
  const items = source[Symbol.asyncIterator]();
  let isOver = false;
  const stream = createStepStream(
    async (): Promise<Step<StreamItem>> => {
      if (isOver) return stream.return();
      const step: Step<StreamItem> = await items.next();
      if (step.done !== true) isOver = endsStream(step.value.response, operation);
      return step;
    },
    () => items.return?.(),
  );
  return stream;
}
