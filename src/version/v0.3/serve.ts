import { createStepStream, endStep, type Step, type StepStream } from "../../protocol/async/steps.js";
import type { ServerContext } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import {
  type GetTaskRequest,
  type ListTaskPushNotificationConfigsRequest,
  type SendMessageRequest,
  type SubscribeToTaskRequest,
  type TaskPushNotificationConfig,
  typeNames,
} from "../../protocol/model.js";
import type { Operations, StreamItem } from "../../protocol/operations.js";
import { isTerminal } from "../../protocol/states.js";
import { isLastEvent } from "./streams.js";

type Handler = Operations<ServerContext>;

/**
 * Wraps the handler for callers up to 0.3. Subscribing to an ended task returns the task instead of an error. A push
 * configuration without an id gets its task's id; a read without an id returns that one, otherwise the first. All
 * configurations are listed on one page. An undeclared extended card counts as not configured.
 */
export function serveV03(handler: Handler): Handler {
  return {
    ...handler,
    sendMessage: (request, context) => handler.sendMessage(withConfigId(request), context),
    sendStreamingMessage(request, context) {
      const items = handler.sendStreamingMessage(withConfigId(request), context);
      return (request.message?.taskId ?? "") === "" ? items : streamWholeTurn(items);
    },
    subscribeToTask: (request, context) => oldSubscription(handler, request, context),
    createTaskPushNotificationConfig: (request, context) =>
      handler.createTaskPushNotificationConfig(
        request.id === "" ? { ...request, id: request.taskId } : request,
        context,
      ),
    async getTaskPushNotificationConfig(request, context) {
      if (request.id !== "") return handler.getTaskPushNotificationConfig(request, context);
      const { taskId, tenant } = request;
      const $typeName = typeNames.ListTaskPushNotificationConfigsRequest;
      const configs = await allConfigs(handler, { $typeName, tenant, taskId, pageSize: 0, pageToken: "" }, context);
      return ownConfig(configs, taskId);
    },
    async listTaskPushNotificationConfigs(request, context) {
      const configs = await allConfigs(handler, request, context);
      return { $typeName: typeNames.ListTaskPushNotificationConfigsResponse, configs, nextPageToken: "" };
    },
    async getExtendedAgentCard(request, context) {
      try {
        return await handler.getExtendedAgentCard(request, context);
      } catch (error) {
        if (!isUnsupported(error)) throw error;
        throw new A2AError("extendedAgentCardNotConfigured", error.message, { cause: error });
      }
    },
  };
}

// The id of a new task is not known yet, so the handler assigns its configuration an id.
function withConfigId(request: SendMessageRequest): SendMessageRequest {
  const { message, configuration } = request;
  const config = configuration?.taskPushNotificationConfig;
  const id = message?.taskId ?? "";
  if (configuration === undefined || config === undefined || config.id !== "" || id === "") return request;
  return { ...request, configuration: { ...configuration, taskPushNotificationConfig: { ...config, id } } };
}

async function allConfigs(
  handler: Handler,
  request: ListTaskPushNotificationConfigsRequest,
  context: ServerContext,
): Promise<TaskPushNotificationConfig[]> {
  const configs: TaskPushNotificationConfig[] = [];
  const tokens = new Set<string>();
  for (let pageToken = request.pageToken; !tokens.has(pageToken); ) {
    tokens.add(pageToken);
    const page = await handler.listTaskPushNotificationConfigs({ ...request, pageToken }, context);
    configs.push(...page.configs);
    if (page.nextPageToken === "") break;
    pageToken = page.nextPageToken;
  }
  return configs;
}

function ownConfig(configs: readonly TaskPushNotificationConfig[], taskId: string): TaskPushNotificationConfig {
  const config = configs.find(({ id }) => id === taskId) ?? configs[0];
  if (config !== undefined) return config;
  throw new A2AError("taskNotFound", "no such push configuration", { metadata: { taskId } });
}

function isUnsupported(error: unknown): error is A2AError {
  return error instanceof A2AError && error.code === "unsupportedOperation";
}

/** Throws synchronously if the handler does, as when streaming is not supported. */
function oldSubscription(
  handler: Handler,
  request: SubscribeToTaskRequest,
  context: ServerContext,
): AsyncIterable<StreamItem> {
  const items = handler.subscribeToTask(request, context)[Symbol.asyncIterator]();
  const firstStep = (): Promise<Step<StreamItem>> => {
    nextStep = () => items.next();
    return items.next().catch(async (error: unknown) => {
      nextStep = async () => endStep;
      const endedStep = isUnsupported(error) ? await endedTask(handler, request, context) : undefined;
      if (endedStep === undefined) throw error;
      return endedStep;
    });
  };
  let nextStep = firstStep;
  return createStepStream(
    () => nextStep(),
    () => items.return?.(),
  );
}

/** The ended task, in place of the subscription's error; `undefined` for any other task. */
async function endedTask(
  handler: Handler,
  { id, tenant }: SubscribeToTaskRequest,
  context: ServerContext,
): Promise<Step<StreamItem> | undefined> {
  const getRequest: GetTaskRequest = { $typeName: typeNames.GetTaskRequest, id, tenant };
  const value = await handler.getTask(getRequest, context).catch(() => undefined);
  if (value?.status === undefined || !isTerminal(value.status.state)) return undefined;
  return {
    done: false,
    value: { response: { $typeName: typeNames.StreamResponse, payload: { case: "task", value } } },
  };
}

/**
 * The stream of a message to an existing task. Holds back the last status until the source has ended. Clients up to 0.3
 * stop reading at that status and would miss that the task ended without taking their message.
 */
export function streamWholeTurn(source: AsyncIterable<StreamItem>): StepStream<StreamItem> {
  const items = source[Symbol.asyncIterator]();
  let ahead: Step<StreamItem> | undefined;
  const next = async (): Promise<Step<StreamItem>> => {
    const stepAhead = ahead;
    ahead = undefined;
    const step: Step<StreamItem> = stepAhead ?? (await items.next());
    if (step.done !== true && isLastEvent(step.value.response)) ahead = await items.next();
    return step;
  };
  return createStepStream(next, () => items.return?.());
}
