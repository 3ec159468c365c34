import { requestOf } from "../../support/say.js";
import type { Process } from "../simulator/process.js";
import type { Caller } from "./caller.js";
import type { Stage } from "./stage.js";

/** The task whose configurations are used, and the handler. */
export interface PushCall {
  readonly caller: Caller;
  readonly stage: Stage;
  readonly process: Process;
  readonly taskId: string;
}

/** Creates a push configuration. Once acknowledged, its webhook is owed the task's events. */
export async function configure({ caller, stage, process, taskId }: PushCall, id: string): Promise<void> {
  const { journal, webhooks } = stage;
  const request = requestOf("createTaskPushNotificationConfig", { taskId, id, url: "https://hook.example/" });
  await caller.call(`configure ${id}`, process, async (operations, context) => {
    await operations.createTaskPushNotificationConfig(request, context);
    webhooks.acknowledged.set(id, { taskId, after: journal.tasks.get(taskId)?.records.length ?? 0 });
  });
}

/** Lists the configurations of a task and reads each one. */
export async function readConfigured({ caller, process, taskId }: PushCall): Promise<void> {
  const list = requestOf("listTaskPushNotificationConfigs", { taskId });
  const page = await caller.call("list configurations", process, (operations, context) =>
    operations.listTaskPushNotificationConfigs(list, context),
  );
  for (const { id } of page?.configs ?? []) {
    const get = requestOf("getTaskPushNotificationConfig", { taskId, id });
    await caller.call(`get ${id}`, process, (operations, context) =>
      operations.getTaskPushNotificationConfig(get, context),
    );
  }
}

export async function unconfigure({ caller, stage, process, taskId }: PushCall, id: string): Promise<void> {
  const request = requestOf("deleteTaskPushNotificationConfig", { taskId, id });
  await caller.call(`delete ${id}`, process, (operations, context) =>
    operations.deleteTaskPushNotificationConfig(request, context),
  );
  // Nothing is owed from the moment its deletion is requested.
  stage.webhooks.acknowledged.delete(id);
}
