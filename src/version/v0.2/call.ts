import type { CallOptions } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import { typeNames } from "../../protocol/model.js";
import type { Operations, ReplyOf, RequestOf } from "../../protocol/operations.js";

type Transport = Operations<CallOptions>;

/**
 * A transport to an agent that may be older than 0.2.5, which added listing and deleting push configurations. For older
 * agents, lists the task's only configuration and throws `unsupportedOperation` on delete.
 */
export function callV02(transport: Transport): Transport {
  return {
    ...transport,
    listTaskPushNotificationConfigs: (request, options) =>
      transport.listTaskPushNotificationConfigs(request, options).catch((error: unknown) => {
        if (!isMissingMethod(error)) throw error;
        return listOne(transport, request, options);
      }),
    deleteTaskPushNotificationConfig: (request, options) =>
      transport.deleteTaskPushNotificationConfig(request, options).catch((error: unknown) => {
        if (!isMissingMethod(error)) throw error;
        throw new A2AError("unsupportedOperation", "the agent cannot delete push configurations", { cause: error });
      }),
  };
}

async function listOne(
  transport: Transport,
  { taskId, tenant }: RequestOf<"listTaskPushNotificationConfigs">,
  options: CallOptions,
): Promise<ReplyOf<"listTaskPushNotificationConfigs">> {
  const getRequest = { $typeName: typeNames.GetTaskPushNotificationConfigRequest, taskId, id: "", tenant } as const;
  const configs = await transport.getTaskPushNotificationConfig(getRequest, options).then(
    (config) => [config],
    (error: unknown) => {
      if (isMissingConfig(error)) return [];
      throw error;
    },
  );
  return { $typeName: typeNames.ListTaskPushNotificationConfigsResponse, configs, nextPageToken: "" };
}

function isMissingMethod(error: unknown): boolean {
  return error instanceof A2AError && error.code === "methodNotFound";
}

// These versions have no error for this, so servers send an internal error and name the cause in its text.
function isMissingConfig(error: unknown): boolean {
  if (!(error instanceof A2AError)) return false;
  return error.code === "taskNotFound" || (error.code === "internalError" && /not found/i.test(error.message));
}
